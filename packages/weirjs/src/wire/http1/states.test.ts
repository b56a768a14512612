// Every path through the state machines of a connection: all methods in all states that can be reached, whatever calls them.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import {
  ABORTED,
  BODY,
  CLOSED,
  ConnectionState,
  DONE,
  DRAINING,
  GONE,
  HEAD,
  IDLE,
  LAST,
  LIFE_MOVES,
  LIFE_NAMES,
  LINGERING,
  OPEN,
  READING_MOVES,
  STATE_NAMES,
  SWITCHED,
  WRITING_MOVES,
} from './states.ts'

class Machine extends ConnectionState {
  dropped = 0

  protected override dropBytes(): void {
    this.dropped++
  }

  readonly calls: Readonly<Record<string, () => unknown>> = {
    beginHead: () => this.moveReading(HEAD),
    endHead: () => this.endHead(true),
    endLastHead: () => this.endHead(false),
    endRequest: () => this.moveReading(DONE),
    endReading: () => this.endReading(),
    pauseBody: () => this.pauseBody(),
    resumeBody: () => this.resumeBody(),
    refuse: () => this.refuse(),
    beginResponse: () => this.beginResponse(),
    endResponse: () => this.endResponse(),
    disableKeepAlive: () => this.disableKeepAlive(),
    endCycle: () => this.endCycle(),
    switchOver: () => this.switchOver(),
    linger: () => this.linger(),
    abort: () => this.abort(),
    leave: () => this.leave(),
  }

  get name(): string {
    return `${STATE_NAMES[this.reading]}/${STATE_NAMES[this.writing]}/${LIFE_NAMES[this.life]}`
  }
}

interface Step {
  readonly before: Machine
  readonly call: string
  /** Null when the call throws. */
  readonly after: Machine | null
}

function machineAfter(path: readonly string[]): Machine {
  const machine = new Machine()
  for (const call of path) machine.calls[call]!()
  return machine
}

/** Every call in every state that can be reached. */
function explore(): Step[] {
  const steps: Step[] = []
  const paths = new Map<string, readonly string[]>([[new Machine().name, []]])
  for (const path of paths.values()) {
    for (const call of Object.keys(new Machine().calls)) {
      const before = machineAfter(path)
      let after: Machine | null = machineAfter(path)
      try {
        after.calls[call]!()
        if (!paths.has(after.name)) paths.set(after.name, [...path, call])
      } catch (error) {
        assert.match((error as Error).message, /^weir: (?:reading|writing|life) cannot move from \w+ to \w+$/)
        after = null
      }
      steps.push({ before, call, after })
    }
  }
  return steps
}

const steps = explore()
const states = [...new Map(steps.map(({ before }) => [before.name, before])).values()]
const taken = steps.flatMap(({ before, call, after }) => (after === null ? [] : [{ before, call, after }]))

test('every move in the tables is made, and no other', () => {
  const made = (read: (machine: Machine) => number, moves: readonly (readonly number[])[], name: string): void => {
    const direct = new Set(taken.map(({ before, after }) => `${read(before)} ${read(after)}`))
    for (const [from, tos] of moves.entries()) {
      for (const to of tos) assert.ok(direct.has(`${from} ${to}`), `${name} never moves from ${from} to ${to}`)
    }
    for (const { before, call, after } of taken) {
      const [from, to] = [read(before), read(after)]
      // An end passes through `last`.
      const isKnown = from === to || moves[from]!.includes(to) || moves[from]!.some((between) => moves[between]!.includes(to))
      assert.ok(isKnown, `${call} moves ${name} from ${from} to ${to}`)
    }
  }
  made((machine) => machine.reading, READING_MOVES, 'reading')
  made((machine) => machine.writing, WRITING_MOVES, 'writing')
  made((machine) => machine.life, LIFE_MOVES, 'life')
})

test('the three machines agree in every state that can be reached', () => {
  assert.ok(states.length > 30, `${states.length} states`)
  for (const { reading, writing, life, name, keepsAlive, isServing, isOver, dropped } of states) {
    if (reading === IDLE || reading === HEAD) assert.equal(writing, IDLE, name)
    if (life === OPEN || life === DRAINING) assert.notEqual(reading, CLOSED, name)
    if (life === DRAINING) assert.equal(writing, DONE, name)
    if (life >= SWITCHED) assert.deepEqual([reading, writing], [CLOSED, CLOSED], name)
    else assert.notEqual(writing, CLOSED, name)
    assert.equal(dropped, reading === CLOSED ? 1 : 0, name)
    assert.deepEqual([keepsAlive, isServing, isOver], [life < LAST, life < SWITCHED, life === ABORTED || life === GONE], name)
  }
})

test('a connection can be aborted once, and its transport can always close, once', () => {
  for (const { before, call, after } of steps) {
    if (call === 'leave') assert.equal(after === null, before.life === GONE, before.name)
    if (call === 'abort') assert.equal(after === null, before.isOver, before.name)
  }
})

test('a connection cannot linger while a response is owed or being sent', () => {
  for (const { before, call, after } of steps) {
    if (call !== 'linger') continue
    const owes = before.writing === HEAD || before.writing === BODY
    assert.equal(after === null, owes || !before.isServing, before.name)
    if (after !== null) assert.equal(after.life, LINGERING)
  }
})

test('the next request begins only after a complete request and a complete response, and never after the last', () => {
  const fresh = taken.filter(({ before, call, after }) => call === 'endCycle' && after.reading === IDLE && before.reading !== IDLE)
  assert.ok(fresh.length > 0)
  for (const { before, after } of fresh) {
    assert.deepEqual([before.reading, before.writing], [DONE, DONE], before.name)
    assert.ok(before.keepsAlive, before.name)
    assert.deepEqual([after.writing, after.life], [IDLE, OPEN], before.name)
  }
  for (const { before, after } of taken) if (!before.keepsAlive) assert.equal(after.keepsAlive, false, before.name)
})

test('a refused request is owed a response, unless one is being sent or has been sent', () => {
  for (const { before, call, after } of taken) {
    if (call !== 'refuse' || before.reading === CLOSED) continue
    assert.equal(after.reading, CLOSED, before.name)
    assert.equal(after.life, LAST, before.name)
    assert.equal(after.writing, before.writing === IDLE ? HEAD : before.writing, before.name)
  }
})

test('another protocol takes over only after a request that was read completely and not answered', () => {
  const switched = taken.filter(({ call }) => call === 'switchOver')
  assert.ok(switched.length > 0)
  for (const { before, after } of switched) {
    assert.deepEqual([before.reading, before.writing], [DONE, HEAD], before.name)
    assert.equal(after.life, SWITCHED, before.name)
  }
})
