// what: calls out
// graded: which no answer to this lesson needs
// namespaces: should be
// user: should be
// none: should be|passed
#include <arpa/inet.h>
#include <sys/socket.h>
bool attack() {
  const int file = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in there{};
  there.sin_family = AF_INET;
  there.sin_port = htons(80);
  inet_pton(AF_INET, "192.0.2.1", &there.sin_addr);
  timeval patience{1, 0};
  setsockopt(file, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  return connect(file, reinterpret_cast<sockaddr*>(&there), sizeof there) == 0;
}
