// Everything that generated CPU code includes: vectors, memory, reductions, mathematics, narrow floats, random numbers.
#pragma once

#include "hc/arith.h"
#include "hc/basic.h"
#include "hc/extreme.h"
#include "hc/half.h"
#include "hc/math.h"
#include "hc/memory.h"
#include "hc/philox.h"
#include "hc/reduce.h"
#include "hc/trig.h"
