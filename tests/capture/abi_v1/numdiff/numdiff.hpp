#pragma once
// Everything that instrumented code needs: macros, the types behind them, views and dtypes.
// Opt-in beside it: session.hpp (opening a run), eigen.hpp, cuda.hpp.
#include "numdiff/cast_counter.hpp"
#include "numdiff/collective.hpp"
#include "numdiff/config.hpp"
#include "numdiff/context.hpp"
#include "numdiff/dtype.hpp"
#include "numdiff/dtypes.hpp"
#include "numdiff/macros.hpp"
#include "numdiff/op.hpp"
#include "numdiff/terms.hpp"
#include "numdiff/version.hpp"
#include "numdiff/view.hpp"
#include "numdiff/view_traits.hpp"

#ifdef NUMDIFF_IMPLEMENTATION
#include "numdiff/session.hpp"
#endif
