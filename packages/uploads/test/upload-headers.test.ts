// The list of header fields for `cors` has what the protocols use.

import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { test } from 'node:test'

import { cors } from '../../weirjs/src/modules/cors/index.ts'
import { uploading } from '../../weirjs/test/support/uploading.ts'
import { uploadHeaders } from '../src/index.ts'

/** What pages may read without being allowed to, or never need. */
const NOT_FOR_PAGES = ['allow', 'cache-control', 'content-encoding', 'expect']

test('uploadHeaders has every field that the sources read or state', () => {
  const files = readdirSync('packages/uploads/src').filter((file) => !file.endsWith('.test.ts'))
  const code = files.map((file) => readFileSync(`packages/uploads/src/${file}`, 'utf8')).join('\n')
  const used = [...code.matchAll(/\bheader\(\s*'([\w-]+)'|\bstateField\(\s*session,\s*'([\w-]+)'/g)].map(([, read, stated]) =>
    (read ?? stated!).toLowerCase(),
  )
  const listed = uploadHeaders.map((name) => name.toLowerCase())
  assert.ok(used.length > 30, `${used.length} are found`)
  assert.deepEqual(
    [...new Set(used)].filter((name) => !listed.includes(name) && !NOT_FOR_PAGES.includes(name)),
    [],
  )
})

test('a page of another origin may send what tus needs and read what it is told', async (t) => {
  const { server, tus } = uploading(t)
  server.use(cors({ origins: ['https://app.example.com'], exposedHeaders: uploadHeaders, allowedHeaders: uploadHeaders }))
  const Origin = 'https://app.example.com'
  const asked = ['Tus-Resumable', 'Upload-Offset', 'Content-Type']
  const preflight = await server.inject({
    method: 'OPTIONS',
    url: '/files/x',
    headers: { Origin, 'Access-Control-Request-Method': 'PATCH', 'Access-Control-Request-Headers': asked.join().toLowerCase() },
  })
  const allowed = preflight.headers.get('access-control-allow-headers')!.toLowerCase().split(/, ?/)
  for (const name of asked) assert.ok(allowed.includes(name.toLowerCase()), name)
  const created = await tus('POST', '/files', { Origin, 'Upload-Length': 10 })
  assert.equal(created.status, 201)
  const exposed = created.headers.get('access-control-expose-headers')!.toLowerCase().split(/, ?/)
  for (const name of ['location', 'upload-expires', 'tus-resumable']) assert.ok(exposed.includes(name), name)
})
