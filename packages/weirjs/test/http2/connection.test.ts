// Every fixture of packages/weirjs/test/http2, with the client's bytes cut in several ways, gives one and the same log.

import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import { test } from 'node:test'

import { Http2Log } from '../support/http2-log.ts'
import { PROLOGUE, readSteps, type StepCase } from '../support/http2-steps.ts'
import { loadWireCases, pieces, type WireCase, wireTopics } from '../support/wire-cases.ts'

const FOLDER = 'packages/weirjs/test/http2'
/** Longer cases are not cut at every place. */
const EVERY_CUT_BYTES = 1_500

for (const topic of wireTopics(FOLDER, '.frames')) {
  for (const one of loadWireCases(`${FOLDER}/${topic}.frames`)) {
    test(`${topic}: ${one.name} (${one.see})`, () => checkCuts(one))
  }
}

function checkCuts(one: WireCase): void {
  const given = readSteps(one)
  const bytes = given.steps.reduce((sum, step) => sum + (step.kind === 'bytes' ? step.bytes.length : 0), 0)
  assert.equal(logOf(one, given, null), one.log, `${one.where}: whole frames`)
  if (given.isUncut) return
  assert.equal(logOf(one, given, 0), one.log, `${one.where}: as few pieces as possible`)
  for (const size of bytes < EVERY_CUT_BYTES ? [1, 2, 3, 5, 7, 10, 11, 23, 60] : [501])
    assert.equal(logOf(one, given, size), one.log, `${one.where}: ${size} bytes at a time`)
}

/** @param size of the pieces in which bytes between two acts come; null for a frame each, 0 for all at once */
function logOf({ limits, where }: WireCase, { steps, offersConnect }: StepCase, size: number | null): string {
  const hasPrologue = steps[0]?.kind === 'bytes' && steps[0].bytes === PROLOGUE
  const log = new Http2Log(limits, offersConnect, hasPrologue ? 1 : 0)
  log.readOutput(log.wire.sender.output.take())
  assert.match(log.lines.splice(0).join(), /^< SETTINGS 0 .*,< WINDOW_UPDATE 0 \+983041$/)
  let waiting: Buffer[] = []
  const pass = (): void => {
    const bytes = Buffer.concat(waiting)
    waiting = []
    for (const piece of size === 0 ? [bytes] : pieces(bytes, size!)) log.receive(piece)
  }
  try {
    for (const step of steps) {
      if (step.kind === 'act') {
        if (size !== null) pass()
        log.act(step)
      } else if (size === null) log.receive(step.bytes)
      else waiting.push(step.bytes)
    }
    if (size !== null) pass()
    log.flush()
  } catch (error) {
    throw new Error(where, { cause: error })
  }
  return log.text
}
