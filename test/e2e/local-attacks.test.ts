// A local server, and what pages that its user has open can do to it, in Chromium. The user is signed in.

import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, type TestContext, test } from 'node:test'

import type { Browser, BrowserContext, Page } from 'playwright-core'
import { HttpServer } from '../../packages/weirjs/src/index.ts'
import { findLocal, type LocalServer, local } from '../../packages/weirjs/src/modules/local/index.ts'
import { websocket } from '../../packages/weirjs/src/modules/websocket/index.ts'
import { launchChromium, noChromium } from '../../packages/weirjs/test/support/chromium.ts'

const PAGE = `<!doctype html><title>mine</title><h1>secret</h1><script>
  const events = new EventSource('/events')
  const socket = new WebSocket('ws://' + location.host + '/socket')
  window.all = Promise.all([
    fetch('/run', { method: 'POST' }).then((response) => response.text()),
    new Promise((resolve) => { events.onmessage = ({ data }) => resolve(data) }),
    new Promise((resolve) => { socket.onmessage = ({ data }) => resolve(data) }),
  ])
</script>`

let browser: Browser
const folder = mkdtempSync(join(tmpdir(), 'weir-local-'))

before(async () => {
  process.env['XDG_RUNTIME_DIR'] = folder
  // A name of the attacker that leads to this machine.
  if (noChromium === false) browser = await launchChromium('--host-resolver-rules=MAP *.evil.example 127.0.0.1')
})
after(async () => {
  await browser?.close()
  rmSync(folder, { recursive: true })
})

interface User {
  readonly running: LocalServer
  readonly context: BrowserContext
  readonly page: Page
  /** What the program has been asked since it was emptied. */
  readonly reached: string[]
  /** The port of a server of the attacker. */
  readonly attackerPort: number
}

function programOf(reached: string[]): HttpServer {
  const server = new HttpServer({ logger: null })
  server.use(({ request }, next) => {
    reached.push(`${request.method} ${request.path}`)
    return next()
  })
  server.mapGet('/', (_, { response }) => response.html(PAGE))
  server.mapGet('/data', () => 'secret')
  server.mapGet('/stale', (_, { response }) => response.header('Cache-Control', 'public, max-age=0').text('secret'))
  server.mapPost('/run', () => 'ran')
  server.mapGet('/form', (_, { response }) => response.html('<!doctype html><form method="post" action="/run"><button>run</button></form>'))
  server.mapGet('/script.js', (_, { response }) => response.contentType('text/javascript').text('window.stolen = 1'))
  server.mapGet('/image.svg', (_, { response }) => response.contentType('image/svg+xml').text('<svg xmlns="http://www.w3.org/2000/svg"/>'))
  server.mapGet('/events', (_, { response }) => response.stream(ReadableStream.from(['data: secret\n\n']), 'text/event-stream'))
  return server.use(websocket('/socket', { open: (socket) => void socket.send('secret') }))
}

async function signedIn(t: TestContext): Promise<User> {
  const reached: string[] = []
  const running = await local(programOf(reached), { name: 'attacked' })
  const attacker = new HttpServer({ logger: null }).mapGet('/', (_, { response }) => response.html('<!doctype html><title>fine</title>'))
  await attacker.start()
  const context = await browser.newContext()
  t.after(async () => {
    await context.close()
    await running.stop()
    await attacker.stop({ grace: 0 })
  })
  const page = await context.newPage()
  await page.goto(running.newLaunchUrl())
  await page.waitForURL(`${running.url}/`)
  assert.deepEqual(await page.evaluate('window.all'), ['ran', 'secret', 'secret'], 'own pages do everything')
  await page.goto('about:blank')
  reached.length = 0
  return { running, context, page, reached, attackerPort: attacker.port }
}

/** Everything that a page can try, and what it gets: `refused` is what a page sees that gets nothing. */
const ATTACK = `async (there) => {
  const got = {}
  const settle = (name, promise) => promise.then((value) => { got[name] = String(value) }, () => { got[name] = 'refused' })
  const element = (tag, properties) => new Promise((resolve, reject) => {
    const made = Object.assign(document.createElement(tag), properties)
    made.onload = () => resolve('loaded')
    made.onerror = reject
    document.body.append(made)
  })
  const passed = async (response) => (response.ok ? response.text() : Promise.reject())
  for (const credentials of ['omit', 'same-origin', 'include']) {
    await settle('fetch ' + credentials, fetch(there + '/data', { credentials }).then(passed))
    await settle('post ' + credentials, fetch(there + '/run', { method: 'POST', credentials }).then(passed))
    await settle('own field ' + credentials, fetch(there + '/data', { credentials, headers: { 'x-a': 'b' } }).then(passed))
    await settle('blind ' + credentials, fetch(there + '/data', { mode: 'no-cors', credentials }).then(passed))
    await settle('blind post ' + credentials, fetch(there + '/run', { method: 'POST', mode: 'no-cors', credentials, body: 'a=b' }).then(passed))
    await settle('enter ' + credentials, fetch(there + '/_local/enter', { method: 'POST', mode: 'no-cors', credentials }).then(passed))
  }
  navigator.sendBeacon(there + '/run', 'a=b')
  await settle('script', element('script', { src: there + '/script.js' }))
  await settle('image', element('img', { src: there + '/image.svg' }))
  await settle('events', new Promise((resolve, reject) => {
    const events = new EventSource(there + '/events', { withCredentials: true })
    events.onmessage = ({ data }) => resolve(data)
    events.onerror = () => { events.close(); reject() }
  }))
  await settle('socket', new Promise((resolve, reject) => {
    const socket = new WebSocket(there.replace('http', 'ws') + '/socket')
    socket.onmessage = ({ data }) => resolve(data)
    socket.onerror = reject
  }))
  const frame = document.createElement('iframe')
  frame.name = 'framed'
  document.body.append(frame)
  const loaded = () => Promise.race([
    new Promise((resolve) => { frame.onload = resolve }),
    new Promise((resolve) => setTimeout(resolve, 2000)),
  ])
  let done = loaded()
  frame.src = there + '/'
  await done
  await settle('frame', new Promise((resolve, reject) => {
    try { resolve(frame.contentDocument?.querySelector('h1')?.textContent ?? reject()) } catch { reject() }
  }))
  const form = Object.assign(document.createElement('form'), { method: 'post', action: there + '/run', target: 'framed' })
  document.body.append(form)
  done = loaded()
  form.submit()
  await done
  return got
}`

const ATTACKERS: Readonly<Record<string, (user: User) => string>> = {
  'another site': ({ attackerPort }) => `http://www.evil.example:${attackerPort}/`,
  'another program on this machine': ({ attackerPort }) => `http://127.0.0.1:${attackerPort}/`,
  'another program under the name localhost': ({ attackerPort }) => `http://localhost:${attackerPort}/`,
}

for (const [name, pageOf] of Object.entries(ATTACKERS))
  test(`a page of ${name} gets nothing by fetch, forms, beacons, scripts, images, frames, events or sockets`, {
    skip: noChromium,
  }, async (t) => {
    const user = await signedIn(t)
    const { page, running, reached } = user
    await page.goto(pageOf(user))
    const targets = [running.url, running.url.replace('127.0.0.1', 'localhost')]
    for (const target of targets) {
      const got = (await page.evaluate(`(${ATTACK})('${target}')`)) as Record<string, string>
      assert.deepEqual([...new Set(Object.values(got))], ['refused'], JSON.stringify(got))
    }
    assert.deepEqual(reached, [], 'nothing came to the program, not even what nobody could have read')
    // The user's own page still works.
    await page.goto(running.newLaunchUrl())
    await page.waitForURL(`${running.url}/`)
  })

for (const [name, pageOf] of Object.entries(ATTACKERS))
  test(`a page of ${name} cannot have the browser load pages before the person opens them`, { skip: noChromium }, async (t) => {
    const user = await signedIn(t)
    const { page, running, reached } = user
    await page.goto(pageOf(user))
    await page.evaluate(`(() => {
      const rule = (path) => [{ source: 'list', urls: ['${running.url}' + path], eagerness: 'immediate' }]
      const rules = { prefetch: rule('/data'), prerender: rule('/stale') }
      document.head.append(Object.assign(document.createElement('script'), { type: 'speculationrules', textContent: JSON.stringify(rules) }))
    })()`)
    await page.waitForTimeout(1000)
    assert.deepEqual(reached, [])
    await page.evaluate(`void (location = '${running.url}/data')`)
    await page.getByText('attacked is private').waitFor()
    assert.deepEqual(reached, [], 'the browser asks again when the person comes')
  })

test('a page whose name was led to this machine gets nothing, though it is of the same origin', { skip: noChromium }, async (t) => {
  const { page, running, reached } = await signedIn(t)
  const origin = `http://rebound.evil.example:${running.port}`
  const response = await page.goto(`${origin}/`)
  assert.ok(response!.status() === 401 || response!.status() === 421)
  const got = (await page.evaluate(`(${ATTACK})('${origin}')`)) as Record<string, string>
  assert.deepEqual([...new Set(Object.values(got))], ['refused'], JSON.stringify(got))
  assert.deepEqual(reached, [])
})

for (const [name, pageOf] of Object.entries(ATTACKERS))
  test(`a window that a page of ${name} opens cannot be read, and asks the person to continue`, { skip: noChromium }, async (t) => {
    const user = await signedIn(t)
    const { page, running, reached, context } = user
    await page.goto(pageOf(user))
    for (const path of ['/', '/data', '/_local', '/_local#token=guessed']) {
      const opened = context.waitForEvent('page')
      await page.evaluate(`window.opened = open('${running.url}${path}')`)
      const other = await opened
      await other.waitForLoadState()
      assert.match(await other.innerText('h1'), /attacked is private/)
      const seen = await page.evaluate('(() => { try { return opened.document.body.innerText } catch (error) { return error.name } })()')
      assert.ok(seen === 'SecurityError' || seen === '' || seen === null, String(seen))
      await other.close()
    }
    assert.deepEqual(reached, [])
    const opened = context.waitForEvent('page')
    await page.evaluate(`window.opened = open('${running.url}/')`)
    const other = await opened
    await other.getByText('continue').click()
    await other.getByText('secret').waitFor()
    assert.ok((reached as string[]).includes('GET /'), 'the person may')
  })

test('a launch URL that was copied into a chat opens nothing in another browser, and its token is in no address', {
  skip: noChromium,
}, async (t) => {
  const { running, context, page } = await signedIn(t)
  const url = running.newLaunchUrl()
  await page.goto(url)
  await page.waitForURL(`${running.url}/`)
  await page.goBack().catch(() => null)
  assert.ok(!page.url().includes('token'))
  const friend = await browser.newContext()
  t.after(() => friend.close())
  const theirs = await friend.newPage()
  await theirs.goto(url)
  await theirs.getByText('This link was used before, or is too old').waitFor()
  assert.ok(!theirs.url().includes('token'))
  assert.equal((await theirs.goto(`${running.url}/`))!.status(), 401)
  assert.deepEqual(await friend.cookies(), [])
  const [cookie] = await context.cookies()
  assert.deepEqual([cookie!.httpOnly, cookie!.sameSite, cookie!.expires], [true, 'Strict', -1])
  assert.ok(!url.includes(cookie!.value) && cookie!.value !== (await findLocal('attacked'))!.token)
})

test('an old cookie, after a crash, opens neither the next instance nor another program on the same port', {
  skip: noChromium,
}, async (t) => {
  const { running, page, context } = await signedIn(t)
  const [old] = await context.cookies()
  await running.stop()
  const reached: string[] = []
  const next = await local(programOf(reached), { name: 'attacked', port: running.port })
  t.after(() => next.stop())
  assert.equal(next.port, running.port)
  const response = await page.goto(`${next.url}/`)
  assert.equal(response!.status(), 401)
  assert.match(await page.innerText('main'), /Start attacked again/)
  assert.deepEqual(reached, [])
  await page.goto(next.newLaunchUrl())
  await page.waitForURL(`${next.url}/`)
  const names = (await context.cookies()).map(({ name }) => name)
  assert.equal(names.filter((name) => name !== old!.name).length, 1)
})

test('a program that has the port afterwards finds nothing in the cache of the browser', { skip: noChromium }, async (t) => {
  const { running, page } = await signedIn(t)
  await page.goto(`${running.url}/`)
  const keptOf = (cache: string, path = '/data'): string =>
    `fetch('${path}', { cache: '${cache}', mode: 'same-origin' }).then((response) => response.text(), () => 'nothing')`
  for (const path of ['/data', '/stale']) assert.equal(await page.evaluate(keptOf('default', path)), 'secret')
  await page.goto('about:blank')
  await running.stop()
  const other = new HttpServer('127.0.0.1', running.port, { logger: null })
  other.mapGet('/', (_, { response }) => response.html('<!doctype html><title>other</title>'))
  await other.start()
  t.after(() => other.stop({ grace: 0 }))
  await page.goto(`${running.url}/`)
  for (const path of ['/data', '/stale']) {
    assert.equal(await page.evaluate(keptOf('only-if-cached', path)), 'nothing')
    assert.match(String(await page.evaluate(keptOf('force-cache', path))), /WEIR_ROUTE_NOT_FOUND/)
  }
})

test('forms of own pages work, although their Referrer-Policy hides the origin', { skip: noChromium }, async (t) => {
  const { running, page } = await signedIn(t)
  await page.goto(`${running.url}/form`)
  await page.click('button')
  await page.waitForURL(`${running.url}/run`)
  assert.equal(await page.innerText('body'), 'ran')
})

test('two programs on this machine are open in one browser at the same time', { skip: noChromium }, async (t) => {
  const { running, context, page } = await signedIn(t)
  const other = await local(programOf([]), { name: 'other' })
  t.after(() => other.stop())
  const second = await context.newPage()
  await second.goto(other.newLaunchUrl())
  await second.waitForURL(`${other.url}/`)
  await page.goto(running.newLaunchUrl())
  await page.waitForURL(`${running.url}/`)
  await second.reload()
  assert.deepEqual(await second.evaluate('window.all'), ['ran', 'secret', 'secret'])
})
