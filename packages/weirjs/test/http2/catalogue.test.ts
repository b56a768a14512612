// The catalogue of faults and the tables of states: what ends a stream, what ends a connection, and that each of them can happen.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'

import { ALLOWANCES } from '../../src/wire/http2/allowances.ts'
import { CODE_NAMES, FAULTS, type FaultName, REFUSED_STREAM } from '../../src/wire/http2/errors.ts'
import { checkLifeMove, FRAMES_IN, LIFE_MOVES, LIFE_NAMES, STREAM_MOVES, STREAM_STATE_NAMES } from '../../src/wire/http2/states.ts'
import { Http2Stream } from '../../src/wire/http2/stream.ts'
import { wireTopics } from '../support/wire-cases.ts'

const faults = Object.entries(FAULTS) as [FaultName, (typeof FAULTS)[FaultName]][]

test('the faults of a stream are these, and all others end the connection', () => {
  assert.deepEqual(
    faults.filter(([, { endsConnection }]) => !endsConnection).map(([name, { code }]) => `${name} ${CODE_NAMES[code]}`),
    [
      'PRIORITY_LENGTH FRAME_SIZE_ERROR',
      'STREAM_ENDED STREAM_CLOSED',
      'TRAILERS_OPEN PROTOCOL_ERROR',
      'TRAILERS_FIELDS PROTOCOL_ERROR',
      'BODY_LENGTH PROTOCOL_ERROR',
      'WINDOW_INCREMENT PROTOCOL_ERROR',
      'WINDOW_OVERFLOW FLOW_CONTROL_ERROR',
      'WINDOW_EXCEEDED FLOW_CONTROL_ERROR',
    ],
  )
  assert.ok(faults.every(([, { code }]) => code < CODE_NAMES.length && code !== REFUSED_STREAM))
})

test('every fault has a case', () => {
  const fixtures = wireTopics('packages/weirjs/test/http2', '.frames').map((topic) =>
    readFileSync(`packages/weirjs/test/http2/${topic}.frames`, 'utf8'),
  )
  const tests = ['packages/weirjs/test/http2/frame-reader.test.ts', 'packages/weirjs/src/wire/http2/hpack/decoder.test.ts'].map((file) =>
    readFileSync(file, 'utf8'),
  )
  const text = [...fixtures, ...tests].join('\n')
  const floods = ALLOWANCES.map(({ fault }) => fault) // floods.test.ts goes through all of them
  assert.deepEqual(
    faults.map(([name]) => name).filter((name) => !floods.includes(name) && !new RegExp(`\\b${name}\\b`).test(text)),
    [],
  )
})

function moveStream(from: number, to: number): void {
  const stream = new Http2Stream<null>(1, 0, 0)
  ;(stream as { state: number }).state = from
  stream.moveTo(to)
}

test('a move that is not in the tables throws', () => {
  for (const [moves, names, check] of [
    [STREAM_MOVES, STREAM_STATE_NAMES, moveStream],
    [LIFE_MOVES, LIFE_NAMES, checkLifeMove],
  ] as const) {
    assert.equal(moves.length, names.length)
    for (let from = 0; from < moves.length; from++)
      for (let to = 0; to < moves.length; to++) {
        if (moves[from]!.includes(to)) check(from, to)
        else assert.throws(() => check(from, to), new RegExp(`cannot move from ${names[from]!.replace(/[()]/g, '\\$&')} to `))
      }
  }
  assert.equal(FRAMES_IN.length, STREAM_STATE_NAMES.length)
})
