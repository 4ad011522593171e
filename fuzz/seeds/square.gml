graph [
  directed 0
  node [ id 0 label "a" Latitude 52.5 Longitude 13.4 ]
  node [ id 1 label "b" Latitude 48.1 Longitude 11.6 ]
  node [ id 2 label "c" ]
  edge [ source 0 target 1 LinkSpeedRaw 10000000000.0 ]
  edge [ source 1 target 2 LinkLabel "1 Gbps" delay "2ms" ]
]
