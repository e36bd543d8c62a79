"""How optimizers change variables: TF's Apply* ops, each with its twins (ops.state.update_rule)."""

from __future__ import annotations

import numpy as np

from headrace.ops.declaration.precision import sign
from headrace.ops.state.update_rule import update


@update("GradientDescent", "", "alpha delta", sparse=False)
def gradient_descent(var, alpha, delta):
    """var -= alpha * delta."""
    return (var - alpha * delta,)


@gradient_descent.lower
def _(e, var, alpha, delta):
    return e.assign(var, lambda *i: var[i] - alpha[()] * delta[i])


def _shrink(var, rate, l1, l2):
    """Soft thresholding by rate * l1, then shrinking by rate * l2."""
    if l1 > 0:
        var = sign(var) * np.maximum(np.abs(var) - rate * l1, 0)
    return var / (1 + l2 * rate)


@update("ProximalGradientDescent", "", "alpha l1 l2 delta")
def proximal_gradient_descent(var, alpha, l1, l2, delta):
    """A step of gradient descent, then the proximal step of l1 and l2 regularisation (FOBOS)."""
    return (_shrink(var - delta * alpha, alpha, l1, l2),)


def _shrunk(e, x, rate, l1, l2):
    """`_shrink` of one element."""
    shrunk = e.sign(x) * e.max(e.abs(x) - rate * l1, 0)
    return e.select(l1 > 0, shrunk, x) / (1 + l2 * rate)


@proximal_gradient_descent.lower
def _(e, var, alpha, l1, l2, delta):
    def element(*i):
        moved = var[i] - delta[i] * alpha[()]
        return _shrunk(e, moved, alpha[()], l1[()], l2[()])

    return e.assign(var, element)


@update("Adadelta", "accum accum_update", "lr rho epsilon grad")
def adadelta(var, accum, accum_update, lr, rho, epsilon, grad):
    """Adadelta: step sizes from averages of squared gradients and of squared updates."""
    accum = accum * rho + np.square(grad) * (1 - rho)
    change = np.sqrt(accum_update + epsilon) / np.sqrt(accum + epsilon) * grad
    return (var - change * lr, accum, accum_update * rho + np.square(change) * (1 - rho))


@adadelta.lower
def _(e, var, accum, accum_update, lr, rho, epsilon, grad):
    squares = e.assign(accum, lambda *i: accum[i] * rho[()] + grad[i] * grad[i] * (1 - rho[()]))
    change = e.compute(
        grad.shape,
        lambda *i: e.sqrt(accum_update[i] + epsilon[()]) / e.sqrt(squares[i] + epsilon[()]) * grad[i],
    )
    e.assign(accum_update, lambda *i: accum_update[i] * rho[()] + change[i] * change[i] * (1 - rho[()]))
    return e.assign(var, lambda *i: var[i] - change[i] * lr[()])


@update("Adagrad", "accum", "lr grad", update_slots=True)
def adagrad(var, accum, lr, grad, *, update_slots):
    """Adagrad: the step shrinks with the sum of squared gradients."""
    if update_slots:
        accum = accum + np.square(grad)
    return var - grad * lr / np.sqrt(accum), accum


@adagrad.lower
def _(e, var, accum, lr, grad, *, update_slots):
    if update_slots:
        accum = e.assign(accum, lambda *i: accum[i] + grad[i] * grad[i])
    return e.assign(var, lambda *i: var[i] - grad[i] * lr[()] * e.rsqrt(accum[i]))


@update("AdagradV2", "accum", "lr epsilon grad", update_slots=True)
def adagrad_v2(var, accum, lr, epsilon, grad, *, update_slots):
    """Adagrad with epsilon beside the root."""
    if update_slots:
        accum = accum + np.square(grad)
    return var - grad * lr / (np.sqrt(accum) + epsilon), accum


@adagrad_v2.lower
def _(e, var, accum, lr, epsilon, grad, *, update_slots):
    if update_slots:
        accum = e.assign(accum, lambda *i: accum[i] + grad[i] * grad[i])
    return e.assign(var, lambda *i: var[i] - grad[i] * lr[()] / (e.sqrt(accum[i]) + epsilon[()]))


@update("ProximalAdagrad", "accum", "lr l1 l2 grad", signs={"positive": "lr", "non-negative": "l1 l2"})
def proximal_adagrad(var, accum, lr, l1, l2, grad):
    """FOBOS with Adagrad's step size."""
    accum = accum + np.square(grad)
    rate = lr / np.sqrt(accum)
    return _shrink(var - grad * rate, rate, l1, l2), accum


@proximal_adagrad.lower
def _(e, var, accum, lr, l1, l2, grad):
    squares = e.assign(accum, lambda *i: accum[i] + grad[i] * grad[i])

    def element(*i):
        rate = lr[()] * e.rsqrt(squares[i])
        return _shrunk(e, var[i] - grad[i] * rate, rate, l1[()], l2[()])

    return e.assign(var, element)


@update("AdagradDA", "gradient_accumulator gradient_squared_accumulator", "grad lr l1 l2 global_step")
def adagrad_da(var, gradient_accumulator, gradient_squared_accumulator, grad, lr, l1, l2, global_step):
    """Dual averaging with Adagrad's step size: the variable follows from the sums alone."""
    total = gradient_accumulator + grad
    squares = gradient_squared_accumulator + np.square(grad)
    steps = np.asarray(global_step, var.dtype)
    direction = -total
    if l1 > 0:
        direction = -sign(total) * np.maximum(np.abs(total) - steps * l1, 0)
    return direction * lr / (l2 * steps * lr + np.sqrt(squares)), total, squares


@adagrad_da.for_rows
def _(var, gradient_accumulator, gradient_squared_accumulator, grad, lr, l1, l2, global_step):
    """TF divides rows of several elements by the step, instead of multiplying the rest by it."""
    if var.ndim == 1:
        given = (gradient_accumulator, gradient_squared_accumulator, grad, lr, l1, l2, global_step)
        return adagrad_da.rule(var, *given)
    total = gradient_accumulator + grad
    squares = gradient_squared_accumulator + np.square(grad)
    steps = np.asarray(global_step, var.dtype)
    direction = -(total / steps)
    if l1 > 0:
        direction = -sign(total) * np.maximum(np.abs(total) / steps - l1, 0)
    return direction / (l2 + np.sqrt(squares) / (steps * lr)), total, squares


def _lower_adagrad_da(e, var, total, squares, grad, lr, l1, l2, global_step, of_rows):
    moved = e.assign(total, lambda *i: total[i] + grad[i])
    spread = e.assign(squares, lambda *i: squares[i] + grad[i] * grad[i])

    def element(*i):
        steps, x, root = e.cast(global_step[()], var.dtype), moved[i], e.sqrt(spread[i])
        if of_rows:
            cut = e.max(e.abs(x) / steps - l1[()], 0)
            direction = e.select(l1[()] > 0, -e.sign(x) * cut, -(x / steps))
            return direction / (l2[()] + root / (steps * lr[()]))
        cut = e.max(e.abs(x) - steps * l1[()], 0)
        direction = e.select(l1[()] > 0, -e.sign(x) * cut, -x)
        return direction * lr[()] / (l2[()] * steps * lr[()] + root)

    return e.assign(var, element)


@adagrad_da.lower
def _(e, var, total, squares, grad, lr, l1, l2, global_step):
    return _lower_adagrad_da(e, var, total, squares, grad, lr, l1, l2, global_step, False)


@adagrad_da.lower_rows
def _(e, var, total, squares, grad, lr, l1, l2, global_step):
    of_rows = len(var.shape) > 1
    return _lower_adagrad_da(e, var, total, squares, grad, lr, l1, l2, global_step, of_rows)


@update("Momentum", "accum", "lr grad momentum", use_nesterov=False)
def momentum(var, accum, lr, grad, momentum, *, use_nesterov):
    """Gradient descent along a decaying sum of gradients, or (Nesterov) one step ahead of it."""
    accum = accum * momentum + grad
    if use_nesterov:
        return var - (grad * lr + accum * momentum * lr), accum
    return var - accum * lr, accum


@momentum.lower
def _(e, var, accum, lr, grad, momentum, *, use_nesterov):
    moved = e.assign(accum, lambda *i: accum[i] * momentum[()] + grad[i])
    if use_nesterov:
        return e.assign(var, lambda *i: var[i] - lr[()] * (grad[i] + moved[i] * momentum[()]))
    return e.assign(var, lambda *i: var[i] - lr[()] * moved[i])


@update("KerasMomentum", "accum", "lr grad momentum", reference=False, use_nesterov=False)
def keras_momentum(var, accum, lr, grad, momentum, *, use_nesterov):
    """Momentum as Keras keeps it: the rate is inside the decaying sum."""
    accum = accum * momentum - grad * lr
    if use_nesterov:
        return var + accum * momentum - grad * lr, accum
    return var + accum, accum


@keras_momentum.lower
def _(e, var, accum, lr, grad, momentum, *, use_nesterov):
    moved = e.assign(accum, lambda *i: accum[i] * momentum[()] - grad[i] * lr[()])
    if use_nesterov:
        return e.assign(var, lambda *i: var[i] + (moved[i] * momentum[()] - grad[i] * lr[()]))
    return e.assign(var, lambda *i: var[i] + moved[i])


@update(
    "Adam", "m v", "beta1_power beta2_power lr beta1 beta2 epsilon grad", sparse=False, use_nesterov=False
)
def adam(var, m, v, beta1_power, beta2_power, lr, beta1, beta2, epsilon, grad, *, use_nesterov):
    """Adam: steps from bias-corrected averages of gradients and of squared gradients."""
    rate = lr * np.sqrt(1 - beta2_power) / (1 - beta1_power)
    m = m + (grad - m) * (1 - beta1)
    v = v + (np.square(grad) - v) * (1 - beta2)
    ahead = grad * (1 - beta1) + beta1 * m if use_nesterov else m
    return var - ahead * rate / (np.sqrt(v) + epsilon), m, v


@adam.lower
def _(e, var, m, v, beta1_power, beta2_power, lr, beta1, beta2, epsilon, grad, *, use_nesterov):
    rate = e.compute((), lambda: lr[()] * e.sqrt(1 - beta2_power[()]) / (1 - beta1_power[()]))
    new_m = e.assign(m, lambda *i: m[i] + (grad[i] - m[i]) * (1 - beta1[()]))
    new_v = e.assign(v, lambda *i: v[i] + (grad[i] * grad[i] - v[i]) * (1 - beta2[()]))

    def ahead(i):
        return grad[i] * (1 - beta1[()]) + beta1[()] * new_m[i] if use_nesterov else new_m[i]

    return e.assign(var, lambda *i: var[i] - ahead(i) * rate[()] / (e.sqrt(new_v[i]) + epsilon[()]))


@update(
    "AdamWithAmsgrad",
    "m v vhat",
    "beta1_power beta2_power lr beta1 beta2 epsilon grad",
    sparse=False,
    reference=False,
)
def adam_with_amsgrad(var, m, v, vhat, beta1_power, beta2_power, lr, beta1, beta2, epsilon, grad):
    """Adam whose second average never shrinks."""
    rate = lr * np.sqrt(1 - beta2_power) / (1 - beta1_power)
    m = m + (grad - m) * (1 - beta1)
    v = v + (np.square(grad) - v) * (1 - beta2)
    vhat = np.maximum(vhat, v)
    return var - m * rate / (np.sqrt(vhat) + epsilon), m, v, vhat


@adam_with_amsgrad.lower
def _(e, var, m, v, vhat, beta1_power, beta2_power, lr, beta1, beta2, epsilon, grad):
    rate = e.compute((), lambda: lr[()] * e.sqrt(1 - beta2_power[()]) / (1 - beta1_power[()]))
    new_m = e.assign(m, lambda *i: m[i] + (grad[i] - m[i]) * (1 - beta1[()]))
    new_v = e.assign(v, lambda *i: v[i] + (grad[i] * grad[i] - v[i]) * (1 - beta2[()]))
    top = e.assign(vhat, lambda *i: e.max(vhat[i], new_v[i]))
    return e.assign(var, lambda *i: var[i] - new_m[i] * rate[()] / (e.sqrt(top[i]) + epsilon[()]))


@update("AdaMax", "m v", "beta1_power lr beta1 beta2 epsilon grad", sparse=False)
def adamax(var, m, v, beta1_power, lr, beta1, beta2, epsilon, grad):
    """Adam with the largest gradient in place of the second average."""
    m = m + (grad - m) * (1 - beta1)
    v = np.maximum(beta2 * v, np.abs(grad))
    return var - lr / (1 - beta1_power) * (m / (v + epsilon)), m, v


@adamax.lower
def _(e, var, m, v, beta1_power, lr, beta1, beta2, epsilon, grad):
    new_m = e.assign(m, lambda *i: m[i] + (grad[i] - m[i]) * (1 - beta1[()]))
    new_v = e.assign(v, lambda *i: e.max(beta2[()] * v[i], e.abs(grad[i])))
    return e.assign(
        var, lambda *i: var[i] - lr[()] / (1 - beta1_power[()]) * (new_m[i] / (new_v[i] + epsilon[()]))
    )


@update("RMSProp", "ms mom", "lr rho momentum epsilon grad")
def rms_prop(var, ms, mom, lr, rho, momentum, epsilon, grad):
    """RMSProp: the step is divided by the root of an average of squared gradients."""
    ms = ms + (np.square(grad) - ms) * (1 - rho)
    mom = mom * momentum + grad * lr / np.sqrt(ms + epsilon)
    return var - mom, ms, mom


@rms_prop.lower
def _(e, var, ms, mom, lr, rho, momentum, epsilon, grad):
    new_ms = e.assign(ms, lambda *i: ms[i] + (grad[i] * grad[i] - ms[i]) * (1 - rho[()]))
    new_mom = e.assign(
        mom, lambda *i: mom[i] * momentum[()] + grad[i] * lr[()] / e.sqrt(new_ms[i] + epsilon[()])
    )
    return e.assign(var, lambda *i: var[i] - new_mom[i])


@update("CenteredRMSProp", "mg ms mom", "lr rho momentum epsilon grad")
def centered_rms_prop(var, mg, ms, mom, lr, rho, momentum, epsilon, grad):
    """RMSProp with an estimate of the variance in place of the mean square."""
    ms = ms + (np.square(grad) - ms) * (1 - rho)
    mg = mg + (grad - mg) * (1 - rho)
    mom = mom * momentum + grad * lr / np.sqrt(ms - np.square(mg) + epsilon)
    return var - mom, mg, ms, mom


@centered_rms_prop.lower
def _(e, var, mg, ms, mom, lr, rho, momentum, epsilon, grad):
    new_ms = e.assign(ms, lambda *i: ms[i] + (grad[i] * grad[i] - ms[i]) * (1 - rho[()]))
    new_mg = e.assign(mg, lambda *i: mg[i] + (grad[i] - mg[i]) * (1 - rho[()]))

    def step(*i):
        spread = new_ms[i] - new_mg[i] * new_mg[i] + epsilon[()]
        return mom[i] * momentum[()] + grad[i] * lr[()] / e.sqrt(spread)

    new_mom = e.assign(mom, step)
    return e.assign(var, lambda *i: var[i] - new_mom[i])


@update("AddSign", "m", "lr alpha sign_decay beta grad", sparse=False)
def add_sign(var, m, lr, alpha, sign_decay, beta, grad):
    """A larger step where gradient and average agree in sign."""
    m = m * beta + grad * (1 - beta)
    return var - lr * (alpha + sign_decay * sign(grad) * sign(m)) * grad, m


@add_sign.lower
def _(e, var, m, lr, alpha, sign_decay, beta, grad):
    new_m = e.assign(m, lambda *i: m[i] * beta[()] + grad[i] * (1 - beta[()]))

    def element(*i):
        agreement = e.sign(grad[i]) * e.sign(new_m[i])
        return var[i] - lr[()] * (alpha[()] + sign_decay[()] * agreement) * grad[i]

    return e.assign(var, element)


@update("PowerSign", "m", "lr logbase sign_decay beta grad", sparse=False)
def power_sign(var, m, lr, logbase, sign_decay, beta, grad):
    """A step scaled by a power of the agreement in sign of gradient and average."""
    m = m * beta + grad * (1 - beta)
    agreement = sign(grad) * sign(m)
    return var - lr * np.exp(logbase * sign_decay * agreement) * grad, m


@power_sign.lower
def _(e, var, m, lr, logbase, sign_decay, beta, grad):
    new_m = e.assign(m, lambda *i: m[i] * beta[()] + grad[i] * (1 - beta[()]))

    def element(*i):
        agreement = e.sign(grad[i]) * e.sign(new_m[i])
        return var[i] - lr[()] * e.exp(logbase[()] * sign_decay[()] * agreement) * grad[i]

    return e.assign(var, element)
