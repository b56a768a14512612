// How long tsc takes for 1,000 routes with schemas, a server and a client, for weir and its peers: `node bench/types/peers.mjs
// [--count 1000] [--runs 3] [--only weir,tRPC]`. Needs `npm run build` and `npm ci --prefix bench/types`.
//
// The programs are in peer-programs.mjs. What a program without routes costs, which only loads the types, is part of the times and not of the
// instantiations per route. The peers take turns. A compiler that needs more than 60 s of CPU time, or more memory than Node gives it, is said
// to not finish, and is measured with 400 routes.
import { spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

import { PROGRAMS } from './peer-programs.mjs'

const HERE = fileURLToPath(new URL('.', import.meta.url))
const COMPILERS = ['typescript-5', 'typescript-7']
const CPU_SECONDS = 60
const FEWER = 400

const { values } = parseArgs({
  options: {
    count: { type: 'string', default: '1000' },
    runs: { type: 'string', default: '3' },
    only: { type: 'string', default: Object.keys(PROGRAMS).join(',') },
    compilers: { type: 'string', default: COMPILERS.join(',') },
  },
})
const count = Number(values.count)
const runs = Number(values.runs)
if (![count, runs].every((number) => Number.isInteger(number) && number > 0)) throw new TypeError('--count and --runs are whole numbers')
const names = values.only.split(',')

const CONFIG = {
  compilerOptions: {
    target: 'ES2022',
    lib: ['ES2023', 'ESNext.Disposable', 'DOM'],
    types: ['node'],
    module: 'NodeNext',
    strict: true,
    noEmit: true,
    skipLibCheck: true,
    paths: {
      weirjs: ['../../../packages/weirjs/dist/index.d.ts'],
      'weirjs/client': ['../../../packages/weirjs/dist/modules/client/index.d.ts'],
    },
  },
  include: ['program.ts'],
}

const folder = `${HERE}build`
const versionOf = (name) => JSON.parse(readFileSync(`${HERE}node_modules/${name}/package.json`, 'utf8')).version

/** Undefined if the compiler does not finish. Times are seconds: CPU time of the compiler, which other processes disturb least, and its own check time. */
function compile(compiler, program) {
  writeFileSync(`${folder}/program.ts`, program)
  // The compiler is one process with one thread that checks. The shell says what its children cost.
  const tsc = `${process.execPath} ${HERE}node_modules/${compiler}/bin/tsc -p ${folder} --extendedDiagnostics${compiler === 'typescript-7' ? ' --singleThreaded' : ''}`
  const { stdout, stderr } = spawnSync('bash', ['-c', `ulimit -t ${CPU_SECONDS}; ${tsc}; code=$?; times >&2; exit $code`], {
    encoding: 'utf8',
    maxBuffer: 2 ** 28,
  })
  const figure = (name) => Number(new RegExp(`^${name}: +([\\d.]+)`, 'm').exec(stdout)?.[1])
  const instantiations = figure('Instantiations')
  if (Number.isNaN(instantiations)) return undefined
  const error = /^.*error TS.*$/m.exec(stdout)?.[0]
  if (error !== undefined) throw new Error(`${compiler}: ${error}`)
  const [, minutes, seconds] = /(\d+)m([\d.]+)s \d+m[\d.]+s\s*$/.exec(stderr)
  return { instantiations, types: figure('Types'), check: figure('Check time'), cpu: Number(minutes) * 60 + Number(seconds) }
}

const median = (numbers) => numbers.sort((a, b) => a - b)[Math.floor(numbers.length / 2)]

rmSync(folder, { recursive: true, force: true })
mkdirSync(folder)
writeFileSync(`${folder}/package.json`, '{ "type": "module" }')
writeFileSync(`${folder}/tsconfig.json`, JSON.stringify(CONFIG))
try {
  for (const compiler of values.compilers.split(',')) {
    const counts = new Map(names.map((name) => [name, count]))
    const results = new Map(names.map((name) => [name, []]))
    for (let run = 0; run < runs; run++) {
      for (const name of names) {
        if (counts.get(name) === 0) continue
        let result = compile(compiler, PROGRAMS[name](counts.get(name)))
        if (result === undefined && counts.get(name) > FEWER) {
          counts.set(name, FEWER)
          result = compile(compiler, PROGRAMS[name](FEWER))
        }
        if (result === undefined) counts.set(name, 0)
        else results.get(name).push(result)
      }
    }
    console.log(`\nTypeScript ${versionOf(compiler)}, ${count} routes, medians of ${runs} runs\n`)
    console.log('| | routes | instantiations | per route | types | check time | CPU time |\n| --- | --- | --- | --- | --- | --- | --- |')
    for (const name of names) {
      const all = results.get(name)
      if (all.length === 0) {
        console.log(`| ${name} | does not finish | | | | | |`)
        continue
      }
      const [{ instantiations, types }] = all
      const perRoute = (instantiations - compile(compiler, PROGRAMS[name](0)).instantiations) / counts.get(name)
      const time = (kind) => median(all.map((one) => one[kind])).toFixed(2)
      console.log(
        `| ${name} | ${counts.get(name)} | ${instantiations} | ${perRoute.toFixed(0)} | ${types} | ${time('check')} s | ${time('cpu')} s |`,
      )
    }
  }
} finally {
  rmSync(folder, { recursive: true })
}
