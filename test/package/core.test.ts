// What `import 'weirjs'` costs: the files that it loads, and how large they are. Read from dist/, as users get it: unminified JavaScript without
// comments, the main entry and everything that it imports when it is loaded. What it imports later (the engines of HTTP, TLS, inject,
// explanations, `fetch`, what reads forms and saves uploads) is not counted.

import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import { readFileSync } from 'node:fs'
import { posix } from 'node:path'
import { test } from 'node:test'

const DIST = 'packages/weirjs/dist'
const FILES = ['index.js', 'parts/core.js', 'parts/declarations.js']
/**
 * 420 kB are wanted. What bounds it: docs/architecture.md.
 */
const MOST_BYTES = 464_500

/** The files of the package that `entry` imports when it is loaded, and the modules that it takes from elsewhere. */
function loadedBy(entry: string): { files: Map<string, string>; others: Set<string> } {
  const files = new Map<string, string>()
  const others = new Set<string>()
  const waiting = [entry]
  for (const file of waiting) {
    if (files.has(file)) continue
    const code = readFileSync(`${DIST}/${file}`, 'utf8')
    files.set(file, code)
    for (const [, to] of code.matchAll(/^(?:(?:import|export)\b[^;'"]*\bfrom\s*|import\s*)["']([^"']+)["']/gm)) {
      if (to!.startsWith('.')) waiting.push(posix.join(posix.dirname(file), to!))
      else others.add(to!)
    }
  }
  return { files, others }
}

const { files, others } = loadedBy('index.js')

test('importing weirjs loads three files of the package, and one small package', () => {
  assert.deepEqual([...files.keys()].sort(), FILES)
  assert.deepEqual([...others].filter((name) => !name.startsWith('node:')).sort(), ['cookie'])
})

test('the core is not larger than its budget', () => {
  const bytes = [...files.values()].reduce((sum, code) => sum + Buffer.byteLength(code), 0)
  assert.ok(bytes > 100_000, 'the files are found')
  assert.ok(bytes <= MOST_BYTES, `${bytes} bytes, and the budget is ${MOST_BYTES}`)
})
