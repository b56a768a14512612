import assert from 'node:assert/strict'
import { test } from 'node:test'

import { LaunchTickets } from './launch-tickets.ts'

function clockAt(): { time: number; now(): number; wallTime(): number; every(): () => void } {
  return { time: 0, now: () => 0, wallTime: () => 0, every: () => () => {} }
}

test('each is good once, and for ten minutes', () => {
  const clock = clockAt()
  clock.now = () => clock.time
  const tickets = new LaunchTickets(clock)
  const one = tickets.issue()
  assert.equal(tickets.use(one), true)
  assert.equal(tickets.use(one), false)
  assert.equal(tickets.knows(one), true)
  const [two, three] = [tickets.issue(), tickets.issue()]
  assert.notEqual(two, three)
  clock.time = 599_999
  assert.equal(tickets.use(two), true)
  clock.time = 600_000
  assert.equal(tickets.use(three), false)
  assert.equal(tickets.use('none'), false)
  assert.equal(tickets.knows('none'), false)
})

test('with more than 32, the oldest are void', () => {
  const tickets = new LaunchTickets(clockAt())
  const all = Array.from({ length: 40 }, () => tickets.issue())
  assert.equal(all.filter((one) => tickets.use(one)).length, 32)
  assert.equal(tickets.use(all[0]!), false)
})
