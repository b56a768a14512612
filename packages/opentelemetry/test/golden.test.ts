// @weirjs/opentelemetry: the spans and durations of exchanges of every kind, on real sockets, with the SDK that is installed here. Other versions
// of the SDK: test/churn/golden-spans.ts.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { test } from 'node:test'

import { GOLDEN, sdkOf, tracedExchanges } from '../../weirjs/test/support/traced-exchanges.ts'

test('every exchange leaves behind the spans and durations of the golden file', async () => {
  const exchanges = JSON.parse(JSON.stringify(await tracedExchanges(sdkOf(createRequire(import.meta.url))))) as Record<string, unknown>
  const golden = JSON.parse(readFileSync(GOLDEN, 'utf8')) as Record<string, unknown>
  assert.ok(Object.keys(golden).length >= 20)
  for (const name of Object.keys(golden)) assert.deepEqual(exchanges[name], golden[name], name)
  assert.deepEqual(Object.keys(exchanges), Object.keys(golden))
})
