// Types of a kernel that devices alone take, such as float16 in products: on the host nothing.
#pragma once

#define REGISTER_DEVICE_TYPES(...) static_assert(true)
