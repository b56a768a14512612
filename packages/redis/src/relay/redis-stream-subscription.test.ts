// A subscriber of a stream, in a model: what arrives late, twice, or not at all, and a stream that drops its oldest entries.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import fc from 'fast-check'

import { type StreamPage, type StreamSource, StreamSubscription } from './redis-stream-subscription.ts'
import type { LiveMessage } from './redis-subscription.ts'

const STEPS = [
  'append',
  'append',
  'arrive',
  'arrive',
  'arrive',
  'lose',
  'serve',
  'serve',
  'reply',
  'fail',
  'drop',
  'verify',
  'burst',
] as const
const PAGE = 3

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))
const numberOf = (id: string): number => Number(id.split('-')[0]) - 100

interface Command {
  /** What Redis does when the command reaches it. */
  readonly run: () => () => void
  /** Passes the reply on. */
  reply: (() => void) | null
  readonly fail: () => void
}

/** A stream of numbered messages, the connection on which they arrive, and replies that a test lets through. */
class Model implements StreamSource {
  entries: LiveMessage[] = []
  count = 0
  readonly arriving: LiveMessage[] = []
  /** The number of the newest message when Redis last told it by itself. */
  began = 0
  readonly #commands: Command[] = []

  append(): void {
    const previous = this.count === 0 ? '0-0' : `${100 + this.count}-0`
    const id = `${100 + ++this.count}-0`
    const entry = { previous, id, message: { id, data: String(this.count) } }
    this.entries.push(entry)
    this.arriving.push(entry)
  }

  drop(): void {
    this.entries = this.entries.slice(Math.min(2, Math.max(0, this.entries.length - 1)))
  }

  readNewest(): Promise<string> {
    return this.#later(() => {
      this.began = this.count
      return this.entries.at(-1)?.id ?? '0-0'
    })
  }

  read(after: string): Promise<StreamPage> {
    return this.#later(() => ({
      newest: this.entries.at(-1)?.id ?? '0-0',
      messages: this.entries.filter(({ id }) => numberOf(id) > numberOf(after)).slice(0, PAGE),
    }))
  }

  /** Redis runs the oldest command. Its reply is on the way. */
  serve(): void {
    const [command] = this.#commands
    if (command !== undefined) command.reply ??= command.run()
  }

  /** @returns whether there was a command */
  reply(): boolean {
    this.serve()
    const command = this.#commands.shift()
    command?.reply?.()
    return command !== undefined
  }

  fail(): void {
    this.#commands.shift()?.fail()
  }

  #later<T>(run: () => T): Promise<T> {
    return new Promise((resolve, reject) => {
      const served = (): (() => void) => {
        const result = run()
        return () => resolve(result)
      }
      this.#commands.push({ run: served, reply: null, fail: () => reject(new Error('no reply')) })
    })
  }
}

async function run(steps: readonly (typeof STEPS)[number][], before: number, after: number | null): Promise<void> {
  const model = new Model()
  for (let i = 0; i < before; i++) model.append()
  model.arriving.length = 0
  const heard: (number | 'gap')[] = []
  let isDue = true // as when the subscription is confirmed
  const subscription = new StreamSubscription(
    model,
    ({ id }) => heard.push(numberOf(id!)),
    { after: after === null ? undefined : `${100 + after}-0`, onGap: () => heard.push('gap') },
    { onClose: () => {}, onError: (error) => assert.fail(String(error)), onHole: () => (isDue = true) },
  )
  const verify = (): void => {
    isDue = false
    subscription.catchUp().catch(() => (isDue = true))
  }
  let isReady = false
  subscription.ready.then(
    () => (isReady = true),
    () => {},
  )
  for (const step of steps) {
    if (step === 'append') model.append()
    else if (step === 'arrive') for (const live of model.arriving.splice(0, 1)) subscription.onLive(live)
    else if (step === 'burst') {
      for (let i = 0; i < 150; i++) model.append()
      for (const live of model.arriving.splice(0, model.arriving.length - 3)) subscription.onLive(live)
    } else if (step === 'lose') model.arriving.shift()
    else if (step === 'drop') model.drop()
    else if (step === 'fail') model.fail()
    else if (step === 'serve') model.serve()
    else if (step === 'reply') model.reply()
    else verify()
    await settled()
    if (isDue) verify()
  }
  for (const live of model.arriving.splice(0)) subscription.onLive(live)
  // As from time to time: a verification that begins while another runs does nothing.
  for (const _ of [1, 2]) {
    verify()
    for (let quiet = 0; quiet < 3; quiet++) {
      await settled()
      if (model.reply()) quiet = 0
      else if (isDue) verify()
    }
  }
  await settled()
  assert.equal(isReady, true)
  // Nothing is missing or repeated without a gap, and there is no gap where nothing is missing.
  const start = after ?? model.began
  let last = start
  let hasGap = false
  for (const one of heard) {
    if (one === 'gap') {
      assert.equal(hasGap, false, 'two gaps in a row')
      hasGap = true
      continue
    }
    assert.ok(one > last, `${one} after ${last}`)
    assert.equal(hasGap, one !== last + 1, `between ${last} and ${one}`)
    hasGap = false
    last = one
  }
  assert.equal(last, Math.max(model.count, start))
}

test('hears every message once and in order, or is told of a gap exactly where some were dropped', async () => {
  const steps = fc.array(fc.constantFrom(...STEPS), { maxLength: 60 })
  const scenario = fc.tuple(steps, fc.nat(8), fc.option(fc.nat(8)))
  await fc.assert(
    fc.asyncProperty(scenario, ([given, before, after]) => run(given, before, after === null ? null : Math.min(after, before) || null)),
    { numRuns: 250 },
  )
})
