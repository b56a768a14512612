// Middleware that knows who sends a request.
import assert from 'node:assert/strict'

import cookieParser from 'cookie-parser'
import cookieSession from 'cookie-session'
import { doubleCsrf } from 'csrf-csrf'
import express from 'express'
import basicAuth from 'express-basic-auth'
import { expressjwt } from 'express-jwt'
import session from 'express-session'
import jwt from 'jsonwebtoken'
import lusca from 'lusca'
import passport from 'passport'
import { BasicStrategy, DigestStrategy } from 'passport-http'
import { Strategy as LocalStrategy } from 'passport-local'

import { guest } from '../support/guest.mjs'

const SECRET = 'a secret of at least 32 characters!'
/** The values of signed cookies, which have random parts. */
const COOKIES = [[/(connect\.sid|csrf|__Host-[^=]*)=[^;"]+/g, '$1=*']]
const options = { secret: SECRET, resave: false, saveUninitialized: false }
const basic = (name, password) => ({ headers: { authorization: `Basic ${btoa(`${name}:${password}`)}` } })

guest('cookie-parser', {
  driven: 'plain, signed, tampered and JSON cookies; setting and clearing',
  app: () =>
    express()
      .use(cookieParser(SECRET))
      .get('/set', (_request, response) => {
        response.cookie('plain', 'a b', { maxAge: 60_000, httpOnly: true, sameSite: 'lax' }).cookie('signed', 'yes', { signed: true })
        response.cookie('json', { a: 1 }).clearCookie('old').end()
      })
      .get('/', ({ cookies, signedCookies }, response) => response.json({ cookies, signedCookies })),
  mask: [[/Expires=(?!Thu, 01 Jan 1970)[^;"]+/g, 'Expires=*']],
  async drive({ get }) {
    assert.equal((await get('/set')).header('set-cookie').length, 4)
    const { cookies, signedCookies } = (await get('/', { cookies: true })).json()
    assert.deepEqual([cookies, signedCookies], [{ plain: 'a b', json: { a: 1 } }, { signed: 'yes' }])
    const tampered = await get('/', { headers: { cookie: 'signed=s%3Ano.signature' } })
    assert.deepEqual(tampered.json(), { cookies: {}, signedCookies: { signed: false } })
  },
})

guest('cookie-session', {
  driven: 'a counter in a signed cookie, destroying it',
  app: () =>
    express()
      .use(cookieSession({ name: 'kept', keys: [SECRET] }))
      .get('/end', (request, response) => {
        request.session = null
        response.end()
      })
      .get('/', (request, response) => {
        request.session.views = (request.session.views ?? 0) + 1
        response.json(request.session)
      }),
  async drive({ get, cookie }) {
    assert.deepEqual((await get('/', { cookies: true })).json(), { views: 1 })
    assert.deepEqual((await get('/', { cookies: true })).json(), { views: 2 })
    await get('/end', { cookies: true })
    assert.equal(cookie('kept'), undefined)
    assert.deepEqual((await get('/', { cookies: true })).json(), { views: 1 })
  },
})

guest('express-session', {
  measured: '/',
  driven: 'a counter, a new id, destroying, 50 visits at a time, a streamed response',
  app: () =>
    express()
      .use(session({ ...options, rolling: true }))
      .get('/', (request, response) => {
        request.session.views = (request.session.views ?? 0) + 1
        response.json({ views: request.session.views })
      })
      .get('/renew', (request, response, next) => {
        const { views } = request.session
        request.session.regenerate((error) => {
          if (error) return next(error)
          request.session.views = views
          response.send('renewed')
        })
      })
      .get('/stream', (request, response) => {
        request.session.streamed = true
        response.write('one ')
        setImmediate(() => response.end('two'))
      })
      .get('/end', (request, response, next) => request.session.destroy((error) => (error ? next(error) : response.send('ended')))),
  mask: COOKIES,
  async drive({ get, cookie }) {
    assert.deepEqual((await get('/', { cookies: true })).json(), { views: 1 })
    const id = cookie('connect.sid')
    assert.deepEqual((await get('/', { cookies: true })).json(), { views: 2 })
    assert.equal((await get('/renew', { cookies: true })).text, 'renewed')
    assert.notEqual(cookie('connect.sid'), id)
    assert.deepEqual((await get('/', { cookies: true })).json(), { views: 3 })
    assert.equal((await get('/stream', { cookies: true })).text, 'one two')
    await Promise.all(Array.from({ length: 50 }, () => get('/', { cookies: true, hidden: true })))
    assert.equal((await get('/end', { cookies: true })).text, 'ended')
    assert.deepEqual((await get('/', { cookies: true })).json(), { views: 1 })
  },
})

guest('passport', {
  packages: ['passport', 'passport-local', 'passport-http'],
  driven: 'a login by a form with a session, logout; Basic and Digest challenges',
  app: () => {
    const users = new passport.Passport()
    users.serializeUser((user, done) => done(null, user.name))
    users.deserializeUser((name, done) => done(null, { name }))
    const check = (name, password, done) => done(null, password === 'right' ? { name } : false)
    users.use(new LocalStrategy(check))
    users.use(new BasicStrategy({ realm: 'guests' }, check))
    users.use(
      new DigestStrategy(
        { qop: 'auth' },
        (name, done) => done(null, { name }, 'right'),
        (_, done) => done(null, true),
      ),
    )
    const app = express().use(session(options), express.urlencoded({ extended: false }), users.initialize(), users.session())
    app.post('/login', users.authenticate('local', { successRedirect: '/me', failureRedirect: '/login' }))
    app.get('/me', ({ user }, response) => (user ? response.json(user) : response.sendStatus(401)))
    app.post('/logout', (request, response, next) => request.logout((error) => (error ? next(error) : response.redirect('/'))))
    app.get('/basic', users.authenticate('basic', { session: false }), ({ user }, response) => response.json(user))
    app.get('/digest', users.authenticate('digest', { session: false }), ({ user }, response) => response.json(user))
    return app
  },
  mask: [...COOKIES, [/nonce=\\"[^"]+\\"/g, 'nonce=*']],
  async drive({ get, post }) {
    const form = { headers: { 'content-type': 'application/x-www-form-urlencoded' }, cookies: true }
    assert.equal((await get('/me')).status, 401)
    assert.equal((await post('/login', 'username=ada&password=wrong', form)).header('location'), '/login')
    assert.equal((await post('/login', 'username=ada&password=right', form)).header('location'), '/me')
    assert.deepEqual((await get('/me', { cookies: true })).json(), { name: 'ada' })
    assert.equal((await post('/logout', '', form)).status, 302)
    assert.equal((await get('/me', { cookies: true })).status, 401)
    assert.deepEqual((await get('/basic', basic('ada', 'right'))).json(), { name: 'ada' })
    assert.match((await get('/basic', basic('ada', 'wrong'))).header('www-authenticate'), /^Basic realm="guests"/)
    assert.match((await get('/digest')).header('www-authenticate'), /^Digest .*qop="auth"/)
  },
})

guest('express-jwt', {
  driven: 'a valid token, none, an expired one, one with a wrong signature',
  app: () =>
    express()
      .use(expressjwt({ secret: SECRET, algorithms: ['HS256'] }))
      .get('/', ({ auth }, response) => response.json({ sub: auth.sub }))
      .use((error, _request, response, _next) => response.status(error.status).json({ code: error.code, message: error.message })),
  async drive({ get }) {
    const by = (token) => ({ headers: { authorization: `Bearer ${token}` } })
    assert.deepEqual((await get('/', by(jwt.sign({ sub: 'ada' }, SECRET)))).json(), { sub: 'ada' })
    assert.equal((await get('/')).json().code, 'credentials_required')
    assert.match((await get('/', by(jwt.sign({ sub: 'ada' }, SECRET, { expiresIn: -10 })))).json().message, /expired/)
    assert.match((await get('/', by(jwt.sign({ sub: 'ada' }, `${SECRET}!`)))).json().message, /invalid signature/)
  },
})

guest('express-basic-auth', {
  driven: 'the challenge, a right and a wrong password',
  app: () =>
    express()
      .use(
        basicAuth({
          users: { ada: 'right' },
          challenge: true,
          realm: 'guests',
          unauthorizedResponse: ({ auth }) => ({ refused: auth?.user ?? null }),
        }),
      )
      .get('/', ({ auth }, response) => response.json(auth.user)),
  async drive({ get }) {
    assert.equal((await get('/')).header('www-authenticate'), 'Basic realm="guests"')
    assert.deepEqual((await get('/', basic('ada', 'wrong'))).json(), { refused: 'ada' })
    assert.equal((await get('/', basic('ada', 'right'))).json(), 'ada')
  },
})

guest('csrf-csrf', {
  driven: 'a form with its token, without one, with one of another session',
  app: () => {
    const { generateCsrfToken, doubleCsrfProtection } = doubleCsrf({
      getSecret: () => SECRET,
      getSessionIdentifier: (request) => request.get('x-user') ?? '',
      cookieName: 'csrf',
      cookieOptions: { secure: false },
    })
    return express()
      .use(cookieParser())
      .get('/token', (request, response) => response.json(generateCsrfToken(request, response)))
      .use(doubleCsrfProtection)
      .post('/', (_request, response) => response.send('accepted'))
      .use((error, _request, response, _next) => response.status(error.statusCode ?? 500).send(error.code))
  },
  hide: ['etag'],
  mask: [...COOKIES, [/\\"[0-9a-f]{64}\.[^"]+\\"/g, '*']],
  async drive({ get, post }) {
    const token = (await get('/token', { headers: { 'x-user': 'ada' } })).json()
    const by = (user, headers) => ({ headers: { 'x-user': user, ...headers }, cookies: true })
    assert.equal((await post('/', '', by('ada', { 'x-csrf-token': token }))).text, 'accepted')
    assert.equal((await post('/', '', by('ada', {}))).status, 403)
    assert.equal((await post('/', '', by('eve', { 'x-csrf-token': token }))).status, 403)
  },
})

guest('lusca', {
  driven: 'its header fields, and its CSRF token of a session',
  app: () =>
    express()
      .use(session(options), express.json())
      .use(
        lusca({
          csrf: true,
          csp: { policy: { 'default-src': "'self'" } },
          xframe: 'SAMEORIGIN',
          p3p: 'ABCDEF',
          hsts: { maxAge: 31_536_000 },
          xssProtection: true,
          nosniff: true,
        }),
      )
      .get('/', (_request, response) => response.json({ token: response.locals._csrf }))
      .post('/', (_request, response) => response.send('accepted'))
      .use((error, _request, response, _next) =>
        response.status(response.statusCode < 400 ? 500 : response.statusCode).send(error.message),
      ),
  hide: ['etag'],
  mask: [...COOKIES, [/token\\":\\"[^"]+\\"/g, 'token=*']],
  async drive({ get, post }) {
    const first = await get('/', { cookies: true })
    assert.equal(first.header('x-frame-options'), 'SAMEORIGIN')
    assert.equal((await post('/', {}, { cookies: true, headers: { 'x-csrf-token': first.json().token } })).text, 'accepted')
    assert.equal((await post('/', {}, { cookies: true })).text, 'CSRF token missing')
  },
})
