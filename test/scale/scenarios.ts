// What the model is asked, and with which assumptions.

import type { Assumptions, Disturbance, Findings } from './model.ts'

/** A thousand processes with a thousand clients each. The costs are rounded up from `measure.ts`. */
export const ASSUMPTIONS: Assumptions = {
  processes: 1000,
  clients: 1_000_000,
  eventsPerSecond: 1,
  connectMs: 0.5,
  deliverMs: 0.02,
  startMs: 1000,
  backlog: 4096,
  tries: 4,
  noticeMs: 3000,
  answerTimeoutMs: 60_000,
  retryMs: 3000,
  jitterMs: 0,
  afterRefusal: 'give-up',
  relay: { kind: 'stream', maxLength: 10_000 },
  ids: 'relay',
  skewMs: 0,
  seed: 1,
}

export interface Scenario {
  readonly name: string
  readonly assumptions: Assumptions
  readonly disturbance: Disturbance
}

const PUBLISH_SUBSCRIBE = { kind: 'publish-subscribe', history: 100 } as const

function scenario(name: string, disturbance: Disturbance, changes: Partial<Assumptions> = {}): Scenario {
  return { name, assumptions: { ...ASSUMPTIONS, ...changes }, disturbance }
}

const balancer = { kind: 'balancer-restart' } as const
const crash = { kind: 'crash', share: 0.25 } as const
const restart = (batch: number): Disturbance => ({ kind: 'rolling-restart', batch })
const partition = { kind: 'partition', share: 0.3, forMs: 30_000 } as const

export const SCENARIOS: readonly Scenario[] = [
  scenario('balancer restarts; retry 3 s', balancer),
  scenario('balancer restarts; retry 3 s + 0 to 10 s', balancer, { jitterMs: 10_000 }),
  scenario('balancer restarts; retry 3 s + 0 to 60 s', balancer, { jitterMs: 60_000 }),
  scenario('balancer restarts; retry 3 s; a backlog of 511', balancer, { backlog: 511 }),
  scenario('balancer restarts; 250 processes; retry 3 s', balancer, { processes: 250 }),
  scenario('balancer restarts; 250 processes; retry 3 s; a backlog of 511', balancer, { processes: 250, backlog: 511 }),
  scenario('balancer restarts; 250 processes; retry 3 s + 0 to 10 s', balancer, { processes: 250, jitterMs: 10_000 }),
  scenario('balancer restarts; TLS at 2 ms; retry 3 s', balancer, { connectMs: 2 }),
  scenario('balancer restarts; TLS at 2 ms; retry 3 s + 0 to 10 s', balancer, { connectMs: 2, jitterMs: 10_000 }),
  scenario('a quarter crashes; retry 3 s', crash),
  scenario('a quarter crashes; retry 0.5 s', crash, { retryMs: 500 }),
  scenario('a quarter crashes; retry 0.5 s; noticed immediately', crash, { retryMs: 500, noticeMs: 0 }),
  scenario('a quarter crashes; retry 3 s + 0 to 10 s; publish and subscribe', crash, { jitterMs: 10_000, relay: PUBLISH_SUBSCRIBE }),
  scenario('rolling restart by 10; stream', restart(10), { jitterMs: 10_000 }),
  scenario('rolling restart by 100; stream', restart(100), { jitterMs: 10_000 }),
  scenario('rolling restart by 10; publish and subscribe', restart(10), { jitterMs: 10_000, relay: PUBLISH_SUBSCRIBE }),
  scenario('rolling restart by 100; publish and subscribe', restart(100), { jitterMs: 10_000, relay: PUBLISH_SUBSCRIBE }),
  scenario('a third without the relay for 30 s; stream of 10,000', partition),
  scenario('a third without the relay for 30 s; stream of 10', partition, { relay: { kind: 'stream', maxLength: 10 } }),
  scenario('a third without the relay for 30 s; publish and subscribe', partition, { relay: PUBLISH_SUBSCRIBE }),
  scenario('clocks differ by 2 s, ids of the relay; balancer restarts', balancer, { jitterMs: 10_000, skewMs: 2000, eventsPerSecond: 10 }),
  scenario('clocks differ by 2 s, ids of the processes; balancer restarts', balancer, {
    jitterMs: 10_000,
    skewMs: 2000,
    eventsPerSecond: 10,
    ids: 'process',
  }),
]

/** One row of the table in docs/reliability.md. */
export function rowOf(name: string, findings: Findings): string {
  const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`
  const count = (value: number): string => Math.round(value).toLocaleString('en')
  const { gaveUp, lost, repeated, steadyAfterMs, longestAwayMs, longestQueue, peakAttempts } = findings
  return `| ${name} | ${count(gaveUp)} | ${count(lost)} | ${count(repeated)} | ${seconds(steadyAfterMs)} | ${seconds(longestAwayMs)} | ${count(longestQueue)} | ${count(peakAttempts)} |`
}
