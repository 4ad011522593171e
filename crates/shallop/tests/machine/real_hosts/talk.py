import socket, sys
at = (sys.argv[2] if len(sys.argv) > 2 else '', 8000)
family = socket.AF_INET6 if sys.argv[1][0] == '6' else socket.AF_INET
if len(sys.argv) > 2:
    print(socket.create_connection(socket.getaddrinfo(at[0], 8000, family)[0][4][:2]).makefile().read())
else:
    server = socket.create_server(at, family=family)
    print('ready', flush=True)
    server.accept()[0].sendall(b'a' * 1000000)
