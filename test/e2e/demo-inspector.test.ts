// The demo shows the inspector, with what its other modules do.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { startDemo } from '../../packages/weirjs/test/support/demo.ts'

test('the demo links to the inspector, which shows its exchanges', async (t) => {
  let told = ''
  const { origin } = await startDemo(t, { logger: { error: assert.fail, info: (text) => (told += text) } })
  const [, opens, token] = /: (http:.*)#token=([\w-]+)$/.exec(told)!
  const headers = { connection: 'close', authorization: `Bearer ${token}` }
  const read = async (path: string): Promise<string> => await (await fetch(`${origin}${path}`, { headers })).text()
  const page = await read('/')
  const [, link] = /<a href="([^"]+)"[^>]*>Inspector<\/a>/.exec(page)!
  assert.equal(opens, `${origin}/${link}`)
  assert.match(await (await fetch(opens!)).text(), /Open it with the link that was printed/)
  assert.match(await read(`/${link}`), /<title>weir inspector<\/title>/)
  const list = JSON.parse(await read(`/${link}/exchanges`)) as { number: number; url: string; status: number }[]
  assert.deepEqual(
    list.map(({ url, status }) => [url, status]),
    [['/', 200]],
  )
  const detail = JSON.parse(await read(`/${link}/exchanges/${list[0]!.number}`)) as { responseBody: { text: string } }
  assert.equal(detail.responseBody.text, page)
})
