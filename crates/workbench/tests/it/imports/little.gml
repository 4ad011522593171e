# a little network
graph [
  directed 0
  node [ id 0 label "North" Latitude 0.0 Longitude 0 graphics [ x 1 ] ]
  node [ id 1 label "South" Latitude 0 Longitude 90 ]
  node [ id 2 label "North" ]
  edge [ source 0 target 1 LinkSpeed "10" LinkSpeedUnits "G" ]
  edge [ source 1 target 2 bandwidth "5 Gbps" ]
  edge [ source 1 target 2 ]
]
