"""Pseudo-code of the sample models, as ``debugger/describe/pseudo_code.py`` writes it."""

from __future__ import annotations

EXPECTED_PSEUDO_CODE: dict[str, str] = {
    "newton_sqrt.onnx": """\
a, tol = inputs
x0 = Max(a, 1.0)
x0_squared = x0 * x0
excess = x0_squared - a
err0 = abs(excess)
keep0 = err0 > tol
x = x0                # initial value
err = err0            # initial value
keep = keep0          # initial condition
while keep:           # while loop
    half = x * 0.5
    q = a / x
    half_q = q * 0.5
    x_new = half + half_q
    change = x_new - x
    err_new = abs(change)
    keep = err_new > tol
    xs.append(x_new)  # scan output, new axis 0
    x = x_new         # back edge
    err = err_new     # back edge
root = x              # last value
last_err = err        # last value
return root, xs
""",
    "collatz.onnx": """\
start = inputs
start_is_one = start == 1
walk = not start_is_one
n = start                      # initial value
count = 0                      # initial value
go_on = walk                   # initial condition
while go_on:                   # while loop
    remainder = n % 2
    is_even = remainder == 0
    if is_even:
        halved = n / 2
        n_next = halved
    else:
        tripled = n * 3
        tripled_plus_one = tripled + 1
        n_next = tripled_plus_one
    count_next = count + 1
    at_one = n_next == 1
    go_on = not at_one
    trajectory.append(n_next)  # scan output, new axis 0
    n = n_next                 # back edge
    count = count_next         # back edge
last = n                       # last value
steps = count                  # last value
return steps, trajectory
""",
    "counter.onnx": """\
max_trips, start, step, limit = inputs
below0 = start < limit
count = start                           # initial value
below = below0                          # initial condition
for i in range(max_trips) while below:  # for loop with a condition
    count_next = count + step
    below = count_next < limit
    counts.append(count_next)           # scan output, new axis 0
    count = count_next                  # back edge
last = count                            # last value
return last, counts
""",
    "fibonacci.onnx": """\
n = inputs
a = 0                       # initial value
b = 1                       # initial value
for i in range(n):          # for loop
    cond_out = True
    number = a
    a_next = b
    b_next = a + b
    numbers.append(number)  # scan output, new axis 0
    a = a_next              # back edge
    b = b_next              # back edge
fn = a                      # last value
fn_plus_1 = b               # last value
return numbers
""",
    "power_iteration.onnx": """\
A, v0, tol, max_iterations = inputs
v = v0                              # initial value
estimate = 0.0                      # initial value
for i in range(max_iterations):     # for loop with a condition
    Av = A @ v
    length = ReduceL2(Av, keepdims=0)
    v_new = Av / length
    estimate_new = v @ Av
    difference = estimate_new - estimate
    change = abs(difference)
    moving = change > tol
    estimates.append(estimate_new)  # scan output, new axis 0
    v = v_new                       # back edge
    estimate = estimate_new         # back edge
    if not moving: break
eigenvector = v                     # last value
eigenvalue = estimate               # last value
return eigenvalue, eigenvector, estimates
""",
    "mandelbrot.onnx": """\
height, width, max_iterations = inputs
height_f = float32(height)
width_f = float32(width)
row_step = 3.0 / height_f
column_step = 3.0 / width_f
pixels = height * width
for pixel in range(pixels):           # for loop
    row = pixel / width
    column = pixel % width
    row_f = float32(row)
    column_f = float32(column)
    down = row_f * row_step
    right = column_f * column_step
    c_im = -1.5 + down
    c_re = -2.25 + right
    re = 0.0                          # initial value
    im = 0.0                          # initial value
    count = 0                         # initial value
    for k in range(max_iterations):   # for loop with a condition
        re_re = re * re
        im_im = im * im
        re_im = re * im
        square_re = re_re - im_im
        square_im = 2.0 * re_im
        re_new = square_re + c_re
        im_new = square_im + c_im
        re_new_2 = re_new * re_new
        im_new_2 = im_new * im_new
        distance_2 = re_new_2 + im_new_2
        inside = distance_2 <= 4.0
        count_new = count + 1
        re = re_new                   # back edge
        im = im_new                   # back edge
        count = count_new             # back edge
        if not inside: break
    last_re = re                      # last value
    last_im = im                      # last value
    escape_count = count              # last value
    more = True
    flat_counts.append(escape_count)  # scan output, new axis 0
height_1 = Unsqueeze(height, [0])
width_1 = Unsqueeze(width, [0])
grid = concat(height_1, width_1, axis=0)
counts = Reshape(flat_counts, grid)
return counts
""",
    "test_loop11.onnx": """\
`trip_count`, `cond`, y = inputs
y_in = y                       # initial value
cond_in = `cond`               # initial condition
for iter_count in range(`trip_count`) while `cond`:  # for loop
    cond_out = cond_in
    x = [1.0, 2.0, 3.0, 4.0, 5.0]
    one = 1
    `end` = iter_count + 1
    slice_start = Unsqueeze(iter_count, axes=[0])
    slice_end = Unsqueeze(`end`, axes=[0])
    slice_out = x[iter_count:`end`]
    y_out = y_in + slice_out
    scan_out = y_out
    res_scan.append(scan_out)  # scan output, new axis 0
    y_in = y_out               # back edge
res_y = y_in                   # last value
return res_y, res_scan
""",
    "loop_do_while.xml": """\
n = inputs
n = n                    # initial value
count = [0]              # initial value
while True:              # do-while loop
    last_digit = n % 10
    drop_digit = n / 10
    count_digit = count + 1
    digits_left = drop_digit > 0
    digits = concat(digits, last_digit, axis=0)  # scan output, concatenated on axis 0
    n = drop_digit       # back edge
    count = count_digit  # back edge
    if not digits_left: break
digit_count = count      # last value
return digit_count, digits
""",
    "loop_for_condition.xml": """\
max_trips, x0, growth, limit = inputs
below_limit_at_start = x0 < limit
x = x0                                        # initial value
below_limit = below_limit_at_start            # initial condition
for i in range(max_trips) while below_limit:  # for loop with a condition, -1 in max_trips = no limit
    grow = x * growth
    below_limit = grow < limit
    history = concat(history, grow, axis=0)   # scan output, concatenated on axis 0
    x = grow                                  # back edge
last = x                                      # last value
return last, history
""",
    "loop_infinite.xml": """\
start = inputs
estimate = start             # initial value
numerator = [4.0]            # initial value
while True:                  # endless loop, i counts from 0
    i_f = float32(i)
    twice_i = i_f * 2.0
    denominator = twice_i + 1.0
    term = numerator / denominator
    add_term = estimate + term
    change_sign = -numerator
    estimate = add_term      # back edge
    numerator = change_sign  # back edge
leibniz = estimate           # last value
return pi=leibniz
""",
    "loop_nested.xml": """\
unit = inputs
e = unit                           # initial value
for i in range(8):                 # for loop
    inner_trips = i + 1
    product = unit                 # initial value
    for j in range(inner_trips):   # for loop, -1 in inner_trips = no limit
        j_f = float32(j)
        factor = j_f + 1.0
        multiply = product * factor
        product = multiply         # back edge
    factorial = product            # last value
    term = unit / factorial
    add_term = e + term
    factorials[i:i+1] = factorial  # scan output, concatenated on axis 0
    e = add_term                   # back edge
`terms.0` = e                      # last value
return e=`terms.0`, factorials
""",
    "loop_slice_concat.xml": """\
x, start = inputs
total = start               # initial value
for i in range(5):          # for loop
    row = x[i:i+1, :]       # sliced input, axis 0
    i_f = float32(i)
    weight = i_f + 1.0
    weigh = row * weight
    add_weighted = total + weigh
    rows[i:i+1, :] = weigh  # scan output, concatenated on axis 0
    total = add_weighted    # back edge
weighted_sum = total        # last value
return rows, weighted_sum
""",
    "lstm.xml": """\
X, H0, C0 = inputs
h = H0                        # initial value
c = C0                        # initial value
for i in range(25):           # 25 = parts of X along axis 1
    x = X[:, i:i+1, :]        # sliced input, axis 1
    x_row = Reshape(x, [1, 512], special_zero=false)
    h_next, c_next = LSTMCell(x_row, h, c, W, R, B, hidden_size=256)
    y_slice = Reshape(h_next, [1, 1, 256], special_zero=false)
    Y[:, i:i+1, :] = y_slice  # scan output, concatenated on axis 1
    h = h_next                # back edge
    c = c_next                # back edge
H = h                         # last value
C = c                         # last value
return Y, H, C
""",
    "reverse_sum.xml": """\
x, start = inputs
total = start                          # initial value
for i in range(6):                     # 6 = parts of x along axis 0
    row = x[5-i:6-i, :]                # sliced input, axis 0
    add_row = total + row
    suffix_sums[5-i:6-i, :] = add_row  # scan output, concatenated on axis 0, the last iteration first
    total = add_row                    # back edge
`sum` = total                          # last value
return suffix_sums, `sum`
""",
}
