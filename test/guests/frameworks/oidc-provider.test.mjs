// oidc-provider: the authorization code flow, driven by openid-client and a browser without a screen.
import assert from 'node:assert/strict'

import { Provider } from 'oidc-provider'
import * as client from 'openid-client'

import { guest } from '../support/guest.mjs'

const REDIRECT = 'http://127.0.0.1:9/callback'

function providerOf(issuer) {
  const provider = new Provider(issuer, {
    clients: [
      {
        client_id: 'app',
        client_secret: 'a secret',
        redirect_uris: [REDIRECT],
        grant_types: ['authorization_code', 'refresh_token'],
        response_types: ['code'],
      },
    ],
    cookies: { keys: ['a key of a test'] },
    claims: { openid: ['sub'], email: ['email'] },
    findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id, email: `${id}@example.com` }) }),
    issueRefreshToken: async () => true,
    features: { introspection: { enabled: true }, revocation: { enabled: true }, devInteractions: { enabled: true } },
    ttl: { AccessToken: 3600, AuthorizationCode: 60, IdToken: 3600, Interaction: 600, Grant: 3600, Session: 3600, RefreshToken: 3600 },
  })
  return provider
}

/** Logs in at the provider and agrees to everything. @returns where the provider sends the browser */
async function logIn(address) {
  const jar = new Map()
  let url = new URL(address)
  let form
  for (let i = 0; i < 20; i++) {
    const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join('; ')
    const response = await fetch(url, {
      redirect: 'manual',
      headers: { cookie, accept: 'text/html' },
      ...(form && { method: 'POST', body: new URLSearchParams(form) }),
    })
    form = undefined
    for (const line of response.headers.getSetCookie()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(line)
      if (value === '') jar.delete(name)
      else jar.set(name, value)
    }
    if (response.status >= 300 && response.status < 400) {
      url = new URL(response.headers.get('location'), url)
      if (url.href.startsWith(REDIRECT)) return url
      continue
    }
    const page = await response.text()
    const [, action] = /action="([^"]+)"/.exec(page) ?? assert.fail(`${response.status} ${url}: ${page.slice(0, 500)}`)
    const [, prompt] = /name="prompt" value="(\w+)"/.exec(page)
    form = { prompt, login: 'ada', password: 'any' }
    url = new URL(action, url)
  }
  assert.fail('the provider redirects without end')
}

guest('oidc-provider', {
  measured: '/.well-known/openid-configuration',
  kind: 'framework',
  driven: 'discovery, the authorization code flow with PKCE and its pages, user info, a refresh, introspection, revocation; errors',
  app: () => {
    let answer
    return {
      handler: (request, response) => answer(request, response),
      listening: (origin) => {
        answer = providerOf(origin).callback()
      },
    }
  },
  async drive({ get, post, note }, { origin }) {
    const config = await client.discovery(new URL(origin), 'app', 'a secret', undefined, { execute: [client.allowInsecureRequests] })
    const verifier = client.randomPKCECodeVerifier()
    const nonce = client.randomNonce()
    const state = client.randomState()
    const address = client.buildAuthorizationUrl(config, {
      redirect_uri: REDIRECT,
      scope: 'openid email offline_access',
      prompt: 'consent',
      code_challenge: await client.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
      nonce,
      state,
    })
    const landed = await logIn(address)
    const tokens = await client.authorizationCodeGrant(config, landed, {
      pkceCodeVerifier: verifier,
      expectedNonce: nonce,
      expectedState: state,
    })
    const { sub } = tokens.claims()
    assert.deepEqual(await client.fetchUserInfo(config, tokens.access_token, sub), { sub: 'ada', email: 'ada@example.com' })
    const refreshed = await client.refreshTokenGrant(config, tokens.refresh_token)
    assert.equal((await client.tokenIntrospection(config, refreshed.access_token)).active, true)
    await client.tokenRevocation(config, refreshed.access_token)
    assert.equal((await client.tokenIntrospection(config, refreshed.access_token)).active, false)
    note('claims', { sub, type: tokens.token_type, scope: tokens.scope })
    const discovered = (await get('/.well-known/openid-configuration')).json()
    assert.equal(discovered.authorization_endpoint, `${origin}/auth`)
    assert.equal((await get('/jwks')).json().keys.length > 0, true)
    assert.equal(
      (await post('/token', 'grant_type=authorization_code&code=no', { headers: { 'content-type': 'application/x-www-form-urlencoded' } }))
        .status,
      400,
    )
    assert.equal((await get('/auth?client_id=none', { hidden: true })).status, 400)
    assert.equal((await get('/me')).status, 401)
    assert.equal((await get('/none')).status, 404)
  },
})
