import assert from 'node:assert/strict'
import { test } from 'node:test'

import { LaunchTickets } from './launch-tickets.ts'
import { newLaunchToken } from './launch-token.ts'

function clockAt(time = 1_000) {
  return { time, now: () => assert.fail('processes share the wall clock'), wallTime: () => clock.time, every: () => () => {} }
}

let clock = clockAt()

test('each is good once, and for ten minutes', () => {
  clock = clockAt()
  const tickets = new LaunchTickets(newLaunchToken(), clock)
  const one = tickets.issue()
  assert.match(one, /^[\w-]+$/, 'it can be sent in a fragment and in Authorization as it is')
  assert.equal(tickets.use(one), true)
  assert.equal(tickets.use(one), false)
  assert.equal(tickets.knows(one), true)
  const [two, three] = [tickets.issue(), tickets.issue()]
  assert.notEqual(two, three)
  clock.time += 599_999
  assert.equal(tickets.use(two), true)
  clock.time += 1
  assert.equal(tickets.use(three), false)
  assert.equal(tickets.use(one), false)
})

test('another process of the user signs one with the token, and nobody signs one without it', () => {
  clock = clockAt()
  const token = newLaunchToken()
  const tickets = new LaunchTickets(token, clock)
  assert.equal(tickets.use(LaunchTickets.sign(token, clock.time)), true)
  const ticket = LaunchTickets.sign(token, clock.time)
  for (let i = 0; i < ticket.length; i++) {
    const changed = `${ticket.slice(0, i)}${ticket[i] === 'A' ? 'B' : 'A'}${ticket.slice(i + 1)}`
    assert.equal(tickets.use(changed) || tickets.knows(changed), false, String(i))
  }
  for (const other of ['', 'none', LaunchTickets.sign(newLaunchToken(), clock.time), `${ticket}-`, ticket.slice(1)])
    assert.equal(tickets.use(other) || tickets.knows(other), false, other)
  assert.equal(tickets.use(ticket), true)
})
