// The demo shows the inspector, with what its other modules do.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { startDemo } from '../../packages/weirjs/test/support/demo.ts'

test('the demo links to the inspector, which shows its exchanges', async (t) => {
  const { origin } = await startDemo(t)
  const read = async (path: string): Promise<string> => await (await fetch(`${origin}${path}`, { headers: { connection: 'close' } })).text()
  const page = await read('/')
  const [, link] = /<a href="([^"]+)">Inspector<\/a>/.exec(page)!
  assert.match(await read(`/${link}`), /<title>weir inspector<\/title>/)
  const list = JSON.parse(await read(`/${link}/exchanges`)) as { number: number; url: string; status: number }[]
  assert.deepEqual(
    list.map(({ url, status }) => [url, status]),
    [['/', 200]],
  )
  const detail = JSON.parse(await read(`/${link}/exchanges/${list[0]!.number}`)) as { responseBody: { text: string } }
  assert.equal(detail.responseBody.text, page)
})
