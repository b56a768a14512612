// The npm package `weir` belongs to somebody else. Nothing that people read or run may lead them to it.

import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { test } from 'node:test'

/** A command that would install or run the package, an import of it, and its path in a message. */
const FOREIGN = [
  /\b(?:npm|pnpm|yarn|bun)(?: \w+)? (?:i|install|add|ci|exec|dlx|create|init)(?: -[\w-]+)* weir(?![\w-])/,
  /\b(?:npx|bunx|pnpx)(?: -[\w-]+)* weir(?![\w-])/,
  /\b(?:from|import|require|resolve)\b *\(? *(['"`])weir(?:\/[\w/.-]*)?\1/,
  /(?<![\w/@.:-])weir\/[a-z]/,
  /npmjs\.com\/package\/weir(?![\w-])/,
]

const isText = (path: string): boolean => /\.(?:ts|mts|js|mjs|json|md|html|yml)$/.test(path)

function filesIn(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((path) => `${folder}/${path.replaceAll('\\', '/')}`)
    .filter((path) => isText(path) && !/\/(?:node_modules|dist|build)\//.test(path))
}

test('nobody is told to install, run or import the package that is named weir', () => {
  const files = [
    ...['README.md', 'SECURITY.md', 'CONTRIBUTING.md', 'CHANGELOG.md'],
    ...['docs', 'examples', 'decisions', ...readdirSync('packages').map((name) => `packages/${name}`)].flatMap(filesIn),
  ]
  assert.ok(files.length > 1_000, 'files were found')
  const found = files.flatMap((file) =>
    readFileSync(file, 'utf8')
      .split('\n')
      .flatMap((line, i) => (FOREIGN.some((pattern) => pattern.test(line)) ? `${file}:${i + 1}: ${line.trim()}` : [])),
  )
  assert.deepEqual(found, [])
})

test('the patterns find what they are for, and nothing of weirjs', () => {
  const bad = [
    'npm install weir',
    'npm i -D weir',
    'npx weir routes',
    'npx -y weir',
    "import { t } from 'weir'",
    "import('weir/sse')",
    'see weir/sse',
  ]
  const good = [
    'npm install weirjs',
    'npx weirjs dev',
    "from 'weirjs/sse'",
    'github.com/weirjs/weir/blob',
    'npm install @weirjs/jwt weirjs',
  ]
  for (const line of bad)
    assert.ok(
      FOREIGN.some((pattern) => pattern.test(line)),
      line,
    )
  for (const line of good) assert.ok(!FOREIGN.some((pattern) => pattern.test(line)), line)
})
