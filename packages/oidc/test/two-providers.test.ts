// Two providers may give the same `sub` to different people: they must not become one principal.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { HttpServer } from '../../weirjs/src/index.ts'
import { sealed, sessions } from '../../weirjs/src/modules/sessions/index.ts'
import { keyOf } from '../../weirjs/test/support/user-sessions.ts'
import { type OidcOptions, oidc } from '../src/index.ts'

test('two providers with the same sessions have to state whom they sign in', () => {
  const install = (staff: Partial<OidcOptions>, customers: Partial<OidcOptions>): void => {
    const users = sessions({ store: sealed({ keys: [keyOf('one')] }) })
    const server = new HttpServer({ logger: null }).use(users)
    server.use(oidc({ sessions: users, issuer: 'https://staff.example', clientId: 'a', clientSecret: null, path: '/staff', ...staff }))
    server.use(oidc({ sessions: users, issuer: 'https://id.example', clientId: 'a', clientSecret: null, path: '/customers', ...customers }))
  }
  const as = (kind: string): Partial<OidcOptions> => ({ principal: ({ sub }) => ({ id: `${kind} ${sub}` }) })
  const refused = {
    code: 'WEIR_OPTION_INVALID',
    message: /https:\/\/id\.example and https:\/\/staff\.example .* the same sub .* principal/,
  }
  assert.throws(() => install({}, {}), refused)
  assert.throws(() => install(as('staff'), {}), refused)
  assert.throws(() => install({}, as('customer')), refused)
  install(as('staff'), as('customer'))
  install({}, { issuer: 'https://staff.example', clientId: 'b' }) // one issuer
})
