// What `npm create weirjs` makes: each template is created, checked by a compiler, tested and started, with the packed packages.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, existsSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { test } from 'node:test'

import {
  COMPILERS,
  installCompiler,
  installPacked,
  nodeForTypeScript,
  run,
  staged,
  userEnvironment,
} from '../../packages/weirjs/test/support/packed-package.ts'
import { temporaryDirectory } from '../../packages/weirjs/test/support/temporary.ts'

/** What a program says first that it is at, and a request that it refuses. */
const TEMPLATES = {
  api: { others: ['openapi'], start: [], url: /http:\/\/[\d.:]+\/notes/, body: '{"text":5}', type: 'application/json', status: 400 },
  app: {
    others: [],
    start: [],
    url: /http:\/\/localhost:\d+\//,
    path: 'api/sign-up',
    body: 'name=ann',
    type: 'application/x-www-form-urlencoded',
    status: 400,
  },
  local: {
    others: [],
    start: ['--no-open'],
    url: /http:\/\/[\d.:]+\//,
    path: 'api/count',
    body: '{}',
    type: 'application/json',
    status: 401,
  },
} as const

for (const [template, { others, start, url, body, type, status, ...rest }] of Object.entries(TEMPLATES)) {
  test(`${template}: passes its own checks, starts, and refuses a wrong request`, async (t) => {
    const node = nodeForTypeScript()
    if (node === null) return t.skip('needs Node 22.18, or that of npm ci --prefix test/package')
    const compiler = COMPILERS.find(({ version, folder }) => version === '5.9' && existsSync(folder))
    if (compiler === undefined) return t.skip('TypeScript is not installed: npm ci --prefix test/package')
    const root = temporaryDirectory(t)
    const env = { ...userEnvironment(node), HOME: root, XDG_RUNTIME_DIR: root, PORT: '0' }
    const creator = join(root, 'create')
    cpSync('packages/create-weirjs', creator, { recursive: true })
    run(node, [join(creator, 'dist/main.js'), 'my-program', '--template', template, '--yes', '--no-install', '--no-git'], root, env)
    const folder = join(root, 'my-program')
    const manifest = readFileSync(join(folder, 'package.json'), 'utf8')
    installPacked(folder)
    writeFileSync(join(folder, 'package.json'), manifest)
    for (const name of others) {
      cpSync(staged(name, root), join(folder, 'node_modules/@weirjs', name), { recursive: true })
      symlinkSync(resolve('node_modules/swagger-ui-dist'), join(folder, 'node_modules/swagger-ui-dist'))
    }
    installCompiler(folder, compiler)
    run(node, [join(folder, 'node_modules/.bin/tsc')], folder, env)
    run(node, ['--test', 'test/*.test.ts'], folder, env)

    const program = spawn(node, ['src/main.ts', ...start], { cwd: folder, env, stdio: ['ignore', 'pipe', 'inherit'] })
    t.after(() => program.kill('SIGKILL'))
    let printed = ''
    for await (const piece of program.stdout.setEncoding('utf8')) if (url.test((printed += piece))) break
    const [address = ''] = url.exec(printed) ?? []
    const path = 'path' in rest ? rest.path : ''
    const response = await fetch(address + path, { method: 'POST', headers: { 'Content-Type': type }, body })
    assert.equal(response.status, status, await response.text())
    program.kill('SIGTERM')
    await once(program, 'exit')
    assert.equal(program.exitCode, 0)
  })
}
