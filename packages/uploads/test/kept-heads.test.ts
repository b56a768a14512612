// What counts the uploads of a client keeps its address, and not the head that has stated it.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { HttpServer } from 'weirjs'

import { growthOf } from '../../weirjs/test/support/memory-growth.ts'
import { temporaryDirectory } from '../../weirjs/test/support/temporary.ts'
import { diskStorage, uploads } from '../src/index.ts'

const COUNT = 300
const JUNK = 'x'.repeat(50_000)

test('keeps no heads of clients whose addresses a proxy states', async (t) => {
  const server = new HttpServer({ logger: null, proxies: { trust: ['loopback'] } })
  server.use(uploads('/files', { storage: diskStorage(temporaryDirectory(t), { sync: false }), onComplete: () => {} }))
  const create = async (address: string): Promise<void> => {
    const { status } = await server.inject({
      method: 'POST',
      url: '/files',
      headers: { 'tus-resumable': '1.0.0', 'upload-length': '5', 'x-forwarded-for': address, 'x-junk': JUNK },
      peer: { address: '127.0.0.1' },
    })
    assert.equal(status, 201)
  }
  for (let i = 0; i < 50; i++) await create(`192.168.${i}.100`)
  const growth = await growthOf(async () => {
    for (let i = 0; i < COUNT; i++) await create(`198.51.${100 + (i % 100)}.${100 + Math.floor(i / 100)}`)
  })
  assert.ok(growth / COUNT < JUNK.length / 5, `${Math.round(growth / COUNT)} bytes for each upload`)
})
