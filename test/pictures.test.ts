// The pictures of the documentation.

import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { test } from 'node:test'

const FOLDER = 'docs/images'
const MOST_BYTES = 120_000

test('each picture has a light and a dark form of at most 120 kB, and a page shows both', () => {
  const pages = ['README.md', ...readdirSync('docs', { recursive: true, encoding: 'utf8' }).map((path) => `docs/${path}`)]
  const shown = pages
    .filter((page) => page.endsWith('.md'))
    .map((page) => readFileSync(page, 'utf8'))
    .join('\n')
  const wrong: string[] = []
  for (const name of readdirSync(FOLDER)) {
    if (name === 'pictures.json') continue // what they show
    const [, start, scheme, end] = /^(.+)-(light|dark)(\.\w+)$/.exec(name) ?? []
    if (start === undefined || !existsSync(`${FOLDER}/${start}-${scheme === 'light' ? 'dark' : 'light'}${end}`))
      wrong.push(`${name} has one form`)
    if (statSync(`${FOLDER}/${name}`).size > MOST_BYTES) wrong.push(`${name} is too large`)
    if (!shown.includes(`images/${name}"`)) wrong.push(`${name} is shown nowhere`)
  }
  assert.deepEqual(wrong, [])
})
