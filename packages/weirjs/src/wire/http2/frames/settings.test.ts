import assert from 'node:assert/strict'
import { test } from 'node:test'

import { FAULTS, type FaultName, Http2Error } from '../errors.ts'
import { FRAME_HEAD_BYTES } from './frame-types.ts'
import { writeSettings } from './frame-writer.ts'
import * as settings from './settings.ts'

function read(...pairs: readonly number[]): settings.PeerSettings {
  const target = Buffer.alloc(FRAME_HEAD_BYTES + 3 * pairs.length)
  const peer = new settings.PeerSettings()
  peer.read(target, FRAME_HEAD_BYTES, writeSettings(target, 0, pairs))
  return peer
}

test('without settings, the initial values of RFC 9113 §6.5.2 apply', () => {
  assert.deepEqual(
    { ...read() },
    {
      headerTableBytes: 4096,
      initialWindowBytes: 65_535,
    },
  )
})

test('each is read, the last value counts, and unknown settings are ignored', () => {
  const pairs = [1, 0, 2, 0, 3, 7, 4, 2 ** 31 - 1, 5, 2 ** 24 - 1, 6, 2 ** 32 - 1, 8, 1, 9, 1, 7, 5, 0xffff, 1, 3, 8, 0, 0]
  assert.deepEqual(
    { ...read(...pairs) },
    {
      headerTableBytes: 0,
      initialWindowBytes: 2 ** 31 - 1,
    },
  )
})

const refused: readonly (readonly [id: number, value: number, fault: FaultName, code: string])[] = [
  [settings.ENABLE_PUSH, 2, 'SETTING_PUSH', 'PROTOCOL_ERROR'],
  [settings.INITIAL_WINDOW_SIZE, 2 ** 31, 'SETTING_WINDOW', 'FLOW_CONTROL_ERROR'],
  [settings.MAX_FRAME_SIZE, 16_383, 'SETTING_FRAME_SIZE', 'PROTOCOL_ERROR'],
  [settings.MAX_FRAME_SIZE, 2 ** 24, 'SETTING_FRAME_SIZE', 'PROTOCOL_ERROR'],
  [settings.ENABLE_CONNECT_PROTOCOL, 2, 'SETTING_CONNECT', 'PROTOCOL_ERROR'],
  [settings.NO_RFC7540_PRIORITIES, 2, 'SETTING_PRIORITIES', 'PROTOCOL_ERROR'],
]
for (const [id, value, fault, code] of refused) {
  test(`refuses setting ${id} with the value ${value}: ${code}`, () => {
    assert.throws(
      () => read(1, 0, id, value),
      (error) => error instanceof Http2Error && error.fault === fault,
    )
    assert.equal(FAULTS[fault].code, code === 'PROTOCOL_ERROR' ? 1 : 3)
  })
}
