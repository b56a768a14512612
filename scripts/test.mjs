// Runs the compiled tests under node's test runner. Names the files itself, because `node --test` reads globs only from Node 21 on.
//
//   node scripts/test.mjs                                    the quick tests: all but `SLOW`, and those with many cases thinned
//   node scripts/test.mjs --all                              all tests, and all of their cases
//   node scripts/test.mjs routing wire                       the files whose path contains one of the words, and all of their cases
//   node scripts/test.mjs routing --test-name-pattern=clash  options go to the runner
//   node scripts/test.mjs --one-process --within=/src/  all files in one process: much faster, for tests that share nothing;
//                                                       words select among those within a folder
//   node scripts/test.mjs --gathered weirjs/            as all tests are run: folders whose tests share nothing in one process each
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'

import { linkCompiled } from './packages.mjs'

process.chdir(join(import.meta.dirname, '..'))
linkCompiled()

/** Options of the runner whose value may be the next argument. */
const VALUED = /^--test-(?:concurrency|name-pattern|reporter|reporter-destination|shard|skip-pattern|timeout)$/

const words = []
const options = []
const given = process.argv.slice(2)
const inOneProcess = given.includes('--one-process')
const isAll = given.includes('--all')
const within = given.find((one) => one.startsWith('--within='))?.slice('--within='.length) ?? ''
for (let i = 0; i < given.length; i++) {
  const argument = given[i]
  if (['--one-process', '--all', '--gathered'].includes(argument) || argument.startsWith('--within=')) continue
  if (VALUED.test(argument) && i + 1 < given.length) options.push(`${argument}=${given[++i]}`)
  else if (argument.startsWith('-')) options.push(argument)
  else words.push(argument)
}

const isQuick = words.length === 0 && !isAll

/**
 * What `npm test` leaves to `npm run test:all`: the whole system with browsers, proxies, compilers and S3; and in the packages what takes seven
 * seconds of CPU or more because it starts many processes, tries very many cases, or measures memory.
 */
const SLOW = [
  'test/e2e/',
  'test/fuzz.test',
  'test/mcp/',
  'test/openapi/',
  'test/package/',
  'test/proxies/',
  'test/site/',
  'test/uploads/',
  'packages/acme/test/acme.test',
  'packages/acme/test/processes',
  'packages/dev/test/cli/',
  'packages/dev/test/recorded-suites',
  'packages/oidc/test/browser',
  'packages/rpc/test/conformance/',
  'packages/rpc/test/volume',
  'packages/weirjs/test/body/multipart-memory',
  'packages/weirjs/test/modules/decompression',
  'packages/weirjs/test/modules/kept-texts',
  'packages/weirjs/test/modules/linear-masking',
  'packages/weirjs/test/modules/relay/rooms-processes',
  'packages/weirjs/test/modules/resumable-processes',
  'packages/weirjs/test/properties/small-pieces-memory',
  'packages/weirjs/test/routing/compiler-cost',
  'packages/weirjs/test/server/held-files',
  'packages/weirjs/test/server/idle-memory',
  'packages/weirjs/test/slow-clients', // by a program that lasts for seconds, whatever the load
]
const isSlow = (file) => SLOW.some((start) => file.startsWith(`build/${start}`))

/** Compiled files whose source has been renamed or removed since are skipped. */
const hasSource = (file) => existsSync(file.replace(/^build\/(.*)\.js$/, '$1.ts'))
const everyFile = ['build/packages', 'build/test']
  .filter((root) => existsSync(root))
  .flatMap((root) => readdirSync(root, { recursive: true }).map((file) => `${root}/${file.replaceAll('\\', '/')}`))
  .filter((file) => file.endsWith('.test.js') && hasSource(file))
  .sort()
for (const start of words.length === 0 ? SLOW : [])
  if (!everyFile.some((file) => file.startsWith(`build/${start}`)))
    throw new Error(`no compiled test begins with ${start}: run npm run compile`)
const files = everyFile
  .filter((file) => file.includes(within))
  .filter((file) => (words.length === 0 ? isAll || !isSlow(file) : words.some((word) => file.includes(word))))

// Without a file, the runner would look for tests itself, and run everything that it finds.
if (files.length === 0)
  throw new Error(`no compiled test ${words.length === 0 ? 'found' : `has ${words.join(' or ')} in its path`}: run npm run compile`)

/**
 * Writes a test that runs others in its process, one after the other, and fails for one that cannot be imported. Node's own
 * `--test-isolation=none` exists only from Node 22 on, and is for all files or none.
 */
function asOneFile(files, name) {
  const lines = files.map((file) => `await load('./${file.slice('build/'.length)}')`)
  const load = `const load = (file) => import(file).catch((error) => void test(\`imports \${file}\`, () => Promise.reject(error)))`
  const path = `build/one-process-${name}.test.js`
  // A property that names no number of runs of its own has 100.
  const thinned = isQuick ? ["import fc from 'fast-check'", 'fc.configureGlobal({ numRuns: 25 })'] : []
  writeFileSync(path, ["import { test } from 'node:test'", ...thinned, load, ...lines, ''].join('\n'))
  return path
}

/**
 * Tests in these folders share nothing, so many of them take one process: a process for each file would double their CPU time. What takes
 * long comes first, also single files. Files of `SLOW` have a process of their own: some of them look at the memory of their process, which
 * is to hold nothing of others.
 */
const TOGETHER = [
  'test/docs.',
  ...['properties/', 'modules/', 'hostile.', 'drain.', 'body/', 'server/', 'conformance/', 'http2/'].map(
    (name) => `packages/weirjs/test/${name}`,
  ),
  ...['redis/', 'uploads/', 'rpc/'].map((name) => `packages/${name}`),
  'packages/weirjs/src/',
  ...['observers/', 'explain/', 'routing/', 'program-errors/', 'testing/'].map((name) => `packages/weirjs/test/${name}`),
  ...['dev/', 'oidc/', 'openapi/', 'mcp/', 'jwt/', 'nats/', 's3/'].map((name) => `packages/${name}`),
]
/** The most files in one process: they run one after the other. */
const MOST_TOGETHER = 30

/** What is in `TOGETHER` as few files, the others as they are. */
function gathered() {
  const startOf = (file) => (isSlow(file) ? undefined : TOGETHER.find((start) => file.startsWith(`build/${start}`)))
  const together = TOGETHER.flatMap((start, place) => {
    const own = files.filter((file) => startOf(file) === start)
    const parts = Math.ceil(own.length / MOST_TOGETHER)
    // The runner sorts files by their names.
    return Array.from({ length: parts }, (_, part) =>
      asOneFile(
        own.filter((_, i) => i % parts === part),
        [String(place).padStart(2, '0'), ...start.match(/[\w-]+/g), ...(parts > 1 ? [part + 1] : [])].join('-'),
      ),
    )
  })
  return [...together, ...files.filter((file) => startOf(file) === undefined)]
}

// A person gets node's own list of failures; a log gets ours.
if (!process.stdout.isTTY && !options.some((option) => option.startsWith('--test-reporter')))
  options.push('--test-reporter=./scripts/reporter.mjs', '--test-reporter-destination=stdout')
// Many tests wait for other processes: with more than two files for each core, the cores do not. The timeout, which is that of a file too, is no
// expectation: it ends what would never end.
const runner = ['--test', '--test-timeout=1200000', `--test-concurrency=${2 * availableParallelism() + 1}`, ...options]
let command = [...runner, ...files]
if (inOneProcess) command = [...options, asOneFile(files, 'all')]
else if (words.length === 0 || given.includes('--gathered')) command = [...runner, ...gathered()]
/** Tests with very many cases try some of them. */
const env = isQuick ? { ...process.env, WEIR_TEST_QUICK: '1' } : process.env
const run = spawnSync(process.execPath, ['--enable-source-maps', ...command], { env, stdio: 'inherit' })
process.exitCode = run.status ?? 1
