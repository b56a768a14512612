import assert from 'node:assert/strict'
import { test } from 'node:test'

import { CLOSED, CLOSING_BY_THEM, CLOSING_BY_US, CloseState, OPEN } from './states.ts'

class Ending extends CloseState {
  theirs(): void {
    this.closedByThem()
  }
}

test('each side closes once, in either order, and nothing follows', () => {
  const ours = new Ending()
  assert.equal(ours.isOpen, true)
  assert.equal(ours.beginClose(), true)
  assert.deepEqual([ours.state, ours.isOpen], [CLOSING_BY_US, false])
  assert.equal(ours.beginClose(), false)
  ours.theirs()
  assert.deepEqual([ours.state, ours.beginClose()], [CLOSED, false])
  assert.throws(() => ours.theirs(), /cannot move from closed to closed/)
  const theirs = new Ending()
  theirs.theirs()
  assert.equal(theirs.state, CLOSING_BY_THEM)
  assert.equal(theirs.beginClose(), true)
  assert.equal(theirs.state, CLOSED)
  assert.equal(new Ending().state, OPEN)
})

test('an abort ends it in every state', () => {
  for (const prepare of [() => {}, (one: Ending) => void one.beginClose(), (one: Ending) => one.theirs(), (one: Ending) => one.abort()]) {
    const one = new Ending()
    prepare(one)
    one.abort()
    assert.equal(one.state, CLOSED)
  }
})
