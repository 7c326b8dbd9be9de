#include "demo/failure.hpp"

#include <cstdio>
#include <new>
#include <string>

#include "tensor/npy.hpp"

namespace course::demo {

namespace {

int say(const std::string& text, int code) {
  std::fprintf(stderr, "demo: %s\n", text.substr(0, text.find_last_not_of('\n') + 1).c_str());
  return code;
}

}  // namespace

int report_exception() {
  try {
    throw;
  } catch (const InputError& error) {
    return say(error.what(), wrong_input);
  } catch (const NpyError& error) {
    return say(error.what(), wrong_input);
  } catch (const program::Unavailable& error) {
    return say(error.what(), unavailable);
  } catch (const std::bad_alloc&) {
    return say("this machine has too little memory for it", unavailable);
  } catch (const std::exception& error) {
    return say(error.what(), failed);
  }
}

}  // namespace course::demo
