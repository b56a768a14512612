// Every path through the state machines of an exchange, and random commands: legal moves are made, and all others throw and change nothing.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'

import {
  begin,
  COMING,
  CUT,
  cutOff,
  EXPIRED,
  type ExchangeState,
  HANDED_OVER,
  HELD,
  isAtWork,
  isCut,
  isOver,
  LOST,
  moveRequest,
  moveResponse,
  moveWork,
  NONE,
  REQUEST_MOVES,
  REQUEST_NAMES,
  RESPONSE_MOVES,
  RESPONSE_NAMES,
  SENT,
  WHOLE,
  WORK_MOVES,
  WORK_NAMES,
} from './exchange-states.ts'

type Command = readonly [name: string, act: (exchange: ExchangeState) => void]

const ALL: readonly Command[] = [
  ['begin', (exchange) => begin(exchange, COMING)],
  ['begin, held', (exchange) => begin(exchange, HELD)],
  ['cut off', (exchange) => void cutOff(exchange)],
  ...REQUEST_NAMES.map((name, to): Command => [`request ${name}`, (exchange) => moveRequest(exchange, to)]),
  ...WORK_NAMES.map((name, to): Command => [`work ${name}`, (exchange) => moveWork(exchange, to)]),
  ...RESPONSE_NAMES.map((name, to): Command => [`response ${name}`, (exchange) => moveResponse(exchange, to)]),
]

const fresh = (): ExchangeState => ({ request: NONE, work: NONE, response: NONE })
const nameOf = ({ request, work, response }: ExchangeState) => `${REQUEST_NAMES[request]}/${WORK_NAMES[work]}/${RESPONSE_NAMES[response]}`

/** @returns whether it was a legal move */
function run(exchange: ExchangeState, [, act]: Command): boolean {
  const before = { ...exchange }
  try {
    act(exchange)
    return true
  } catch (error) {
    assert.match((error as Error).message, /^weir: \w+ of an exchange cannot move from [a-z ]+ to [a-z ]+$/)
    assert.deepEqual(exchange, before, 'an illegal move has changed something')
    return false
  }
}

test('random commands: illegal moves throw and change nothing, and nothing comes back from the end', () => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...ALL), { maxLength: 60 }), (commands) => {
      const exchange = fresh()
      for (const command of commands) {
        const before = { ...exchange }
        const isLegal = run(exchange, command)
        const { request, work, response } = exchange
        if (isCut(before)) assert.equal(response, before.response, 'SENT and CUT are final')
        if (isOver(before)) assert.ok(isOver(exchange))
        if (isLegal && command[0] === 'cut off') assert.ok(isCut(exchange) && (isCut(before) || (request !== COMING && request !== HELD)))
        if (isLegal && command[0].startsWith('begin')) {
          assert.ok(isAtWork(exchange) && !isOver(exchange))
          assert.ok(!isAtWork(before), 'one exchange at a time')
        }
        assert.equal(isOver(exchange), work === EXPIRED && (response === SENT || response === CUT))
      }
    }),
    { numRuns: 500 },
  )
})

test('every state in the tables can be reached, every move can be made, and every exchange that can be reached can end', () => {
  const reached = new Map([[nameOf(fresh()), fresh()]])
  const made = new Set<string>()
  for (const before of reached.values()) {
    for (const command of ALL) {
      const exchange = { ...before }
      if (!run(exchange, command)) continue
      made.add(`request ${before.request} ${exchange.request}`)
      made.add(`work ${before.work} ${exchange.work}`)
      made.add(`response ${before.response} ${exchange.response}`)
      if (!reached.has(nameOf(exchange))) reached.set(nameOf(exchange), exchange)
    }
    const exchange = { ...before }
    cutOff(exchange)
    if (exchange.work !== EXPIRED) moveWork(exchange, EXPIRED)
    assert.ok(isOver(exchange), `${nameOf(before)} cannot end`)
  }
  for (const [machine, moves] of [
    ['request', REQUEST_MOVES],
    ['work', WORK_MOVES],
    ['response', RESPONSE_MOVES],
  ] as const)
    for (const [from, targets] of moves.entries())
      for (const to of targets) assert.ok(made.has(`${machine} ${from} ${to}`), `${machine} never moves from ${from} to ${to}`)
})

test('a client that is cut off has lost the rest of its request, unless all of it had arrived', () => {
  for (const [request, after] of [
    [COMING, LOST],
    [HELD, LOST],
    [WHOLE, WHOLE],
    [NONE, NONE],
  ] as const) {
    const exchange = fresh()
    if (request !== NONE) begin(exchange, COMING)
    if (request !== NONE && request !== COMING) moveRequest(exchange, request)
    assert.ok(cutOff(exchange))
    assert.deepEqual([exchange.request, exchange.response], [after, CUT])
    assert.equal(cutOff(exchange), false, 'once')
  }
})

test('the next request begins once the response to the one before it has been handed over and its work has expired', () => {
  const exchange = fresh()
  begin(exchange, COMING)
  moveResponse(exchange, HANDED_OVER)
  assert.throws(() => begin(exchange, COMING), /cannot move/)
  moveWork(exchange, EXPIRED)
  begin(exchange, COMING)
  assert.equal(nameOf(exchange), 'coming/gates/due')
})
