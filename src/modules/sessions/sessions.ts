// `weir/sessions`: what a server knows of a client from one request to the next, and who has signed in.
//
// The gate opens the session of a request that has its cookie. It is written when the response is about to be sent, whatever made that
// response, and only if something has changed.

import { Buffer } from 'node:buffer'

import type { Module, ModuleHost } from '../../app/module-host.ts'
import type { Policy } from '../../app/policies/policy.ts'
import { WeirError } from '../../base/errors.ts'
import { isPromise } from '../../base/is-promise.ts'
import { kindOf, shown } from '../../base/kind-of.ts'
import { checkNames, flag, invalid, listOf, namesOf, wholeNumber } from '../../base/options.ts'
import { outgoingOf } from '../../http/answer/response.ts'
import { headerOf } from '../../http/request/request.ts'
import { prefersHtml } from '../../http/request/prefers-html.ts'
import { exchangeOf, type HttpSession } from '../../http/session.ts'
import type { AnySchema, StandardSchema } from '../../schema/standard.ts'
import type { Scheme } from '../auth/scheme.ts'
import { type CsrfOptions, csrf } from '../csrf/csrf.ts'
import { type Keeping, type Kept, SealedKeeping, StoreKeeping } from './keeping.ts'
import { SealedSessions } from './sealed.ts'
import { CookieForms, soleCookie } from './session-cookie.ts'
import { principalOf, RecordFormat, SCHEME_NAME, type SessionPrincipal, type SessionRecord } from './session-record.ts'
import type { SessionStore } from './session-store.ts'
import { StoredValue, type StoredObject } from './stored-value.ts'
import { OpenSession, type SessionSettings, type UserSession } from './user-session.ts'
