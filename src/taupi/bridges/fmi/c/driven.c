/* A robot that follows commands through its drives: steps between communication points, with commands that arrive late. */
#include "driven.h"

#include <math.h>
#include <string.h>

#include "driven_step.h"

enum { GOOD, REFUSED_INPUT = 2, REFUSED_TIME, REFUSED_RESULT }; /* as other steps count; nothing saturates here */

void driven_start(Driven *m)
{
    memset(m, 0, sizeof *m);
    m->now.period = -1;
}

/* Remember what is commanded from now on; 0 if there is no room for all that has still to arrive. */
static int sent(Driven *m, const double *command)
{
    const int last = (m->now.first + m->now.count - 1) % KEPT;
    if (m->now.count && !memcmp(m->command[last], command, sizeof m->command[last])) return 1;
    while (m->now.count > 1 && m->from[(m->now.first + 1) % KEPT] <= m->now.time - DELAY) {
        m->now.first = (m->now.first + 1) % KEPT;
        --m->now.count;
    }
    if (m->now.count == KEPT) return 0;
    const int next = (m->now.first + m->now.count++) % KEPT;
    m->from[next] = m->now.time;
    memcpy(m->command[next], command, sizeof m->command[next]);
    return 1;
}

/* The mean of what was commanded from a to b, b > a; before the first command, it holds already. */
static void mean(const Driven *m, double a, double b, double *command)
{
    double end = b;
    memset(command, 0, sizeof m->command[0]);
    for (int i = m->now.count - 1; i >= 0 && end > a; --i) {
        const int place = (m->now.first + i) % KEPT;
        const double begin = i && m->from[place] > a ? m->from[place] : a;
        if (begin >= end) continue;
        for (int k = 0; k < 3 * JOINTS; ++k) command[k] += m->command[place][k] * ((end - begin) / (b - a));
        end = begin;
    }
}

static int finite(const double *values, int count)
{
    for (int k = 0; k < count; ++k)
        if (!(fabs(values[k]) <= MOST)) return 0;
    return 1;
}

static int moved(Driven *m, const double *enabled, const double *volts, double dt, double *tau)
{
    const double parts = ceil(dt / LONGEST - 1e-6), begin = m->now.time;
    const int steps = parts > 1 ? (int)parts : 1;
    double command[3 * JOINTS], next[SIZE], torque[JOINTS], solved;
    memset(tau, 0, JOINTS * sizeof *tau);
    for (int k = 0; k < steps; ++k) {
        const double from = begin + dt * k / steps, to = begin + dt * (k + 1) / steps;
        const double period = floor(from * RATE + 1e-6);
        const double tick = !RATE || period > m->now.period, h = to - from;
        m->now.period = period;
        mean(m, from - DELAY, to - DELAY, command);
        driven_step(m->now.x, command, enabled, volts, &tick, &h, next, torque, &solved);
        memcpy(m->now.x, next, sizeof m->now.x);
        for (int i = 0; i < JOINTS; ++i) tau[i] += torque[i] * (h / dt);
    }
    m->now.time = begin + dt;
    return finite(m->now.x, SIZE) && finite(tau, JOINTS);
}

double driven_update(Driven *m, const double *q_des, const double *qd_des, const double *tau_ff, const double *enabled,
                     const double *volts, double dt, double *q, double *qd, double *tau)
{
    const DrivenState before = m->now;
    double command[3 * JOINTS], on[JOINTS], supply[JOINTS], mean_torque[JOINTS];
    if (!(dt > 0 && dt <= LONGEST_GAP)) return REFUSED_TIME;
    for (int i = 0; i < JOINTS; ++i) {
        command[i] = q_des[i];
        command[JOINTS + i] = qd_des ? qd_des[i] : 0;
        command[2 * JOINTS + i] = tau_ff[i];
        on[i] = enabled[i] > 0.5;
        supply[i] = volts ? volts[i] : 0;
    }
    if (!finite(command, 3 * JOINTS) || !finite(enabled, JOINTS) || !finite(supply, JOINTS)) return REFUSED_INPUT;
    if (!m->now.count)
        for (int i = 0; i < SIZE; ++i) m->now.x[i] = command[i % (2 * JOINTS)];
    if (!sent(m, command)) return REFUSED_TIME;
    if (!moved(m, on, supply, dt, mean_torque)) {
        m->now = before;
        return REFUSED_RESULT;
    }
    memcpy(q, m->now.x, JOINTS * sizeof *q);
    memcpy(qd, m->now.x + JOINTS, JOINTS * sizeof *qd);
    memcpy(tau, mean_torque, sizeof mean_torque);
    return GOOD;
}
