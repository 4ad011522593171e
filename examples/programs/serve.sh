# A web server with a page of a million bytes, which are equal in every run.
seq 200000 | head -c 1000000 > page
sha256sum page
exec python3 -m http.server 8000
