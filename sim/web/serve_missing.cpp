// In place of the folder server, where there is no Boost.
#include "sim/web/serve.hpp"

namespace distsim::web {

Result<void> serve(const ServeOptions&) {
  return Error{"serve: this program was built without Boost, expected one that was built with it", "",
               "install libboost-dev and build again"};
}

}  // namespace distsim::web
