// Tokens that must not be accepted, and the keys of the server that refuses them.

import { Buffer } from 'node:buffer'
import { createHmac } from 'node:crypto'

import * as jose from 'jose'

import type { JwtOptions } from '../src/index.ts'
import { AUDIENCE, CLAIMS, ISSUER, type KeyPair, keyPair, NOW, tokenOf } from './support.ts'

export const own = await keyPair('own')
export const foreign = await keyPair('own')
export const rsa = await keyPair('rsa', 'RS256')
export const encoded = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url')
const hmac = (text: string, secret: string | Uint8Array): string => createHmac('sha256', secret).update(text).digest('base64url')
const signedByHand = (header: object, secret: string | Uint8Array, claims: object = CLAIMS): string => {
  const text = `${encoded(header)}.${encoded(claims)}`
  return `${text}.${hmac(text, secret)}`
}

export const optionsOf = (keys: readonly KeyPair[] = [own, rsa]): JwtOptions => ({
  issuer: ISSUER,
  audience: AUDIENCE,
  algorithms: ['ES256', 'RS256'],
  jwks: { keys: keys.map(({ jwk }) => jwk) },
})

export type Attack = readonly [title: string, token: () => Promise<string> | string, options?: Partial<JwtOptions>]

export const ATTACKS: readonly Attack[] = [
  ['alg none, without a signature', () => `${encoded({ alg: 'none' })}.${encoded(CLAIMS)}.`],
  ['alg none, with a signature', () => `${encoded({ alg: 'none' })}.${encoded(CLAIMS)}.AAAA`],
  ['alg NoNe', () => `${encoded({ alg: 'NoNe', kid: 'own' })}.${encoded(CLAIMS)}.AAAA`],
  [
    'alg none, with the signature of another token',
    async () => `${encoded({ alg: 'none' })}.${encoded(CLAIMS)}.${(await tokenOf(own)).split('.')[2]}`,
  ],
  ['HS256 with the public key of RSA as PEM', async () => signedByHand({ alg: 'HS256', kid: 'rsa' }, await jose.exportSPKI(rsa.publicKey))],
  ['HS256 with the public key of RSA as JWK', () => signedByHand({ alg: 'HS256', kid: 'rsa' }, JSON.stringify(rsa.jwk))],
  ['HS256 with the modulus of RSA', () => signedByHand({ alg: 'HS256', kid: 'rsa' }, Buffer.from(rsa.jwk.n!, 'base64url'))],
  ['HS256 with an empty secret', () => signedByHand({ alg: 'HS256' }, '')],
  ['RS256 said, HS256 signed', async () => signedByHand({ alg: 'RS256', kid: 'rsa' }, await jose.exportSPKI(rsa.publicKey))],
  [
    'an algorithm that is not accepted, with the right key',
    () => tokenOf({ ...rsa, alg: 'PS256' }).catch(() => signedByHand({ alg: 'PS256', kid: 'rsa' }, 'x')),
  ],
  ['an algorithm that is not a text', () => signedByHand({ alg: ['ES256'], kid: 'own' }, 'x')],
  ['an algorithm from the prototype', () => signedByHand({ alg: 'constructor', kid: 'own' }, 'x')],
  ['no algorithm', () => signedByHand({ kid: 'own' }, 'x')],
  ['kid that leads to a file, signed with its content', () => signedByHand({ alg: 'HS256', kid: '../../../../dev/null' }, '')],
  ['kid that leads to a file, with an accepted algorithm', () => tokenOf(foreign, { header: { kid: '../../../../dev/null' } })],
  ['kid with a query for a database', () => tokenOf(foreign, { header: { kid: "x' UNION SELECT 'secret' --" } })],
  ['kid from the prototype', () => tokenOf(foreign, { header: { kid: '__proto__' } })],
  ['kid that is not a text', () => signedByHand({ alg: 'ES256', kid: { $ne: null } }, 'x')],
  ['the key of somebody else under a known kid', () => tokenOf(foreign)],
  ['its own key in jwk', () => tokenOf(foreign, { header: { jwk: foreign.jwk } })],
  ['its own key in jwk, with a known kid and the right signature', () => tokenOf(own, { header: { jwk: own.jwk } })],
  ['its own keys at jku', () => tokenOf(foreign, { header: { jku: 'https://evil.example/keys' } })],
  ['jku with the right signature', () => tokenOf(own, { header: { jku: 'https://issuer.example/keys' } })],
  ['its own keys at x5u', () => tokenOf(foreign, { header: { x5u: 'https://evil.example/keys' } })],
  ['its own certificate in x5c', () => tokenOf(foreign, { header: { x5c: ['MIIB'] } })],
  ['an unknown critical extension', () => signedByHand({ alg: 'ES256', kid: 'own', crit: ['exp'], exp: 1 }, 'x')],
  [
    'critical b64',
    async () => {
      const payload = Buffer.from(JSON.stringify(CLAIMS))
      return await new jose.CompactSign(payload)
        .setProtectedHeader({ alg: 'ES256', kid: 'own', b64: true, crit: ['b64'] })
        .sign(own.privateKey)
    },
  ],
  ['an empty list of critical extensions', () => signedByHand({ alg: 'ES256', kid: 'own', crit: [] }, 'x')],
  ['one trailing dot', async () => `${await tokenOf(own)}.`],
  ['many trailing dots', async () => `${await tokenOf(own)}${'.'.repeat(100)}`],
  ['a leading dot', async () => `.${await tokenOf(own)}`],
  ['nothing but two dots', () => '..'],
  ['two dots in a row', async () => (await tokenOf(own)).replace('.', '..')],
  ['two parts', async () => (await tokenOf(own)).split('.').slice(0, 2).join('.')],
  ['an empty signature', async () => `${(await tokenOf(own)).split('.').slice(0, 2).join('.')}.`],
  ['five parts', async () => `${await tokenOf(own)}.x.y`],
  [
    'an encrypted token',
    () => new jose.EncryptJWT({ ...CLAIMS }).setProtectedHeader({ alg: 'dir', enc: 'A256GCM' }).encrypt(new Uint8Array(32)),
  ],
  ['padding', async () => `${await tokenOf(own)}=`],
  ['base64 that is not base64url', async () => (await tokenOf(own)).replace(/[-_]|.$/, '+')],
  ['a blank inside', async () => (await tokenOf(own)).replace('.', ' .')],
  ['two tokens', async () => `${await tokenOf(own)}, ${await tokenOf(own)}`],
  ['no token', () => ''],
  ['JSON in place of a token', () => JSON.stringify({ payload: encoded(CLAIMS) })],
  ['a header that is not JSON', () => `${Buffer.from('{').toString('base64url')}.${encoded(CLAIMS)}.AAAA`],
  ['a header that is a list', () => `${encoded(['ES256'])}.${encoded(CLAIMS)}.AAAA`],
  ['a header that is null', () => `${encoded(null)}.${encoded(CLAIMS)}.AAAA`],
  ['claims that are not an object', () => `${encoded({ alg: 'ES256', kid: 'own' })}.${encoded('x')}.AAAA`],
  ['claims that are not UTF-8', () => `${encoded({ alg: 'ES256', kid: 'own' })}.${Buffer.from([0x7b, 0xff]).toString('base64url')}.AAAA`],
  [
    'changed claims',
    async () => {
      const [header, , signature] = (await tokenOf(own)).split('.')
      return `${header}.${encoded({ ...CLAIMS, sub: 'root' })}.${signature}`
    },
  ],
  ['a changed signature', async () => (await tokenOf(own)).replace(/\.([^.]{4})([^.]*)$/, '.AAAA$2')],
  ['expired', () => tokenOf(own, { claims: { exp: NOW - 6 } })],
  ['expired exactly at the tolerance', () => tokenOf(own, { claims: { exp: NOW - 5 } })],
  ['no exp', () => tokenOf(own, { claims: { exp: undefined } })],
  ['exp that is a text', () => tokenOf(own, { claims: { exp: String(NOW + 1000) } })],
  ['exp that is null', () => tokenOf(own, { claims: { exp: null } })],
  ['not yet valid', () => tokenOf(own, { claims: { nbf: NOW + 6 } })],
  ['nbf that is a text', () => tokenOf(own, { claims: { nbf: '0' } })],
  ['another audience', () => tokenOf(own, { claims: { aud: 'https://other.example/' } })],
  ['a list of other audiences', () => tokenOf(own, { claims: { aud: ['https://other.example/', `${AUDIENCE}x`] } })],
  ['an empty list of audiences', () => tokenOf(own, { claims: { aud: [] } })],
  ['the audience inside another list', () => tokenOf(own, { claims: { aud: [[AUDIENCE]] } })],
  ['the audience as an object', () => tokenOf(own, { claims: { aud: { 0: AUDIENCE, length: 1 } } })],
  ['no audience', () => tokenOf(own, { claims: { aud: undefined } })],
  ['another issuer', () => tokenOf(own, { claims: { iss: 'https://evil.example/' } })],
  ['the issuer without its slash', () => tokenOf(own, { claims: { iss: ISSUER.slice(0, -1) } })],
  ['a list of issuers', () => tokenOf(own, { claims: { iss: [ISSUER] } })],
  ['no issuer', () => tokenOf(own, { claims: { iss: undefined } })],
  ['no subject', () => tokenOf(own, { claims: { sub: undefined } })],
  ['a subject that is a number', () => tokenOf(own, { claims: { sub: 7 } })],
  ['an empty subject', () => tokenOf(own, { claims: { sub: '' } })],
  ['another type', () => tokenOf(own, { header: { typ: 'JWT' } }), { typ: 'at+jwt' }],
  ['no type', () => tokenOf(own), { typ: 'at+jwt' }],
  ['a token for logging out', () => tokenOf(own, { header: { typ: 'logout+jwt' } }), { typ: 'at+jwt' }],
]
