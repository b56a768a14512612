import assert from 'node:assert/strict'
import { test } from 'node:test'

import { acceptDeflate } from './deflate-offer.ts'

test('the first offer that follows RFC 7692 is accepted, with its parameters', () => {
  const fields: readonly (readonly [field: string | null, accepted: string | null])[] = [
    [null, null],
    ['x-other', null],
    ['permessage-deflate', 'permessage-deflate'],
    ['x; a="b", permessage-deflate ; client_max_window_bits', 'permessage-deflate; client_max_window_bits=12'],
    ['permessage-deflate; client_max_window_bits=15', 'permessage-deflate; client_max_window_bits=12'],
    ['permessage-deflate; client_no_context_takeover; client_max_window_bits', 'permessage-deflate; client_no_context_takeover'],
    ['permessage-deflate; client_max_window_bits=10', 'permessage-deflate; client_max_window_bits=10'],
    ['permessage-deflate; server_max_window_bits="10"', 'permessage-deflate; server_max_window_bits=10'],
    ['permessage-deflate; server_max_window_bits=7, permessage-deflate', 'permessage-deflate'],
    ['permessage-deflate; unknown', null],
    ['permessage-deflate; server_max_window_bits', null],
    ['permessage-deflate; client_max_window_bits=16', null],
    ['permessage-deflate; client_max_window_bits=010', null],
    ['permessage-deflate; client_no_context_takeover=1', null],
    ['permessage-deflate; client_no_context_takeover; client_no_context_takeover', null],
    ['permessage-deflate; client_max_window_bits; client_max_window_bits=9', null],
  ]
  for (const [field, accepted] of fields) assert.equal(acceptDeflate(field)?.field ?? null, accepted, field ?? 'none')
})

test('what was accepted says who keeps which window', () => {
  assert.deepEqual(acceptDeflate('permessage-deflate; server_no_context_takeover; client_max_window_bits=9')!.parameters, {
    clientKeeps: true,
    serverKeeps: false,
    clientBits: 9,
    serverBits: 15,
  })
})
