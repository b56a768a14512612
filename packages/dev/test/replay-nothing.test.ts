import assert from 'node:assert/strict'
import { test } from 'node:test'

import { HttpServer } from '../../weirjs/src/index.ts'
import { temporaryDirectory } from '../../weirjs/test/support/temporary.ts'
import { replay } from '../src/index.ts'

test('a folder without exchanges is an error: a test that replays nothing would pass', async (t) => {
  const folder = temporaryDirectory(t)
  await assert.rejects(replay(new HttpServer(), folder), { code: 'WEIR_OPTION_INVALID', message: /there are no exchanges in / })
})
