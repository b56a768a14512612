// The recipes of docs/guide/proxies.md for an application below a path, behind a real nginx.

import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { openapi } from '../../packages/openapi/src/index.ts'
import { HttpServer, href, type ServerOptions } from '../../packages/weirjs/src/index.ts'
import { freePort, noNginx, run, temporaryFolder } from './proxy.ts'

const PAGE = readFileSync('docs/guide/proxies.md', 'utf8')
/** Home Assistant's ingress, as far as an add-on sees it: the path with a token is removed, and stated. */
const INGRESS = `location ~ ^/api/hassio_ingress/([^/]+)/(.*)$ {
  proxy_pass http://127.0.0.1:8080/$2$is_args$args;
  proxy_set_header Host $http_host;
  proxy_set_header X-Ingress-Path /api/hassio_ingress/$1;
}`

function recipe(name: string): string {
  return new RegExp(`^\`\`\`nginx ${name}\\n([\\s\\S]*?)^\`\`\`$`, 'm').exec(PAGE)![1]!
}

async function behindNginx(t: TestContext, location: string, options: ServerOptions): Promise<string> {
  const server = new HttpServer({ logger: null, proxies: { trust: ['loopback'] }, ...options })
  server.mapGet('/', () => 'home')
  server.mapGet('/users/:id', ({ id }, { basePath }) => basePath + href('/users/:id', { id }))
  server.mapGet('/me', (_, { response }) => response.cookie('who', '7', { path: '/' }).redirect('/users/7'))
  server.use(openapi({ info: { title: 'x', version: '1' }, expose: true, ui: null }))
  await server.start()
  t.after(() => server.stop({ grace: 0 }))
  const port = await freePort()
  const folder = temporaryFolder()
  const file = join(folder, 'nginx.conf')
  const places = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => `${name}_temp_path ${folder}/${name};`).join('\n')
  const site = `server { listen 127.0.0.1:${port}; ${location.replaceAll('8080', String(server.port))} }`
  writeFileSync(
    file,
    `daemon off;\nmaster_process off;\npid ${folder}/nginx.pid;\nevents {}\nhttp { access_log off;\n${places}\n${site} }\n`,
  )
  await run(t, folder, 'nginx', ['-p', folder, '-e', join(folder, 'error.log'), '-c', file], port)
  return `http://127.0.0.1:${port}`
}

const ROWS: readonly [title: string, location: string, options: ServerOptions, base: string][] = [
  ['nginx that passes the path on', recipe('kept'), { basePath: '/app' }, '/app'],
  ['nginx that removes the path, and states it', recipe('removed'), { basePath: 'x-forwarded-prefix' }, '/app'],
  ['the ingress of Home Assistant', INGRESS, { basePath: 'x-ingress-path' }, '/api/hassio_ingress/t0-k_en'],
]

for (const [title, location, options, base] of ROWS)
  test(`an application below a path, behind ${title}`, { skip: noNginx }, async (t) => {
    const origin = await behindNginx(t, location, options)
    // What a client states itself is overwritten.
    const headers = { 'X-Forwarded-Prefix': '/evil', 'X-Ingress-Path': '/evil' }
    assert.equal(await (await fetch(`${origin}${base}/`, { headers })).text(), 'home')
    assert.equal(await (await fetch(`${origin}${base}/users/7?a=b`, { headers })).text(), `${base}/users/7`)
    const away = await fetch(`${origin}${base}/me`, { headers, redirect: 'manual' })
    assert.ok([`${base}/users/7`, `${origin}${base}/users/7`].includes(away.headers.get('location')!), away.headers.get('location')!)
    assert.deepEqual(away.headers.getSetCookie(), [`who=7; Path=${base}`])
    assert.equal(await (await fetch(`${origin}${base}/me`, { headers })).text(), `${base}/users/7`)
    const document = (await (await fetch(`${origin}${base}/openapi.json`, { headers })).json()) as { servers: unknown }
    assert.deepEqual(document.servers, [{ url: base }])
    assert.equal((await fetch(`${origin}/users/7`, { headers })).status, 404)
  })
