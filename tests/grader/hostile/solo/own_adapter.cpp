// what: brings the table of functions that the player asks for
// graded: multiple definition
// user: multiple definition
// none: multiple definition
extern "C" void* course_adapter() {
  return nullptr;
}
bool attack() {
  return true;
}
