// How the arguments of a handler are made of one request, without the values of secrets.

import { InvalidBodyError } from '../../base/errors.ts'
import type { TypedBody } from '../../http/body/typed-body.ts'
import type { HttpRequest } from '../../http/request/request.ts'
import { shownFailures } from '../../http/response/shown-failures.ts'
import { Mismatch, NOT_SHOWN, PASSES_SCHEMA, shorten } from '../../schema/mismatch.ts'
import { Schema } from '../../schema/schema.ts'
import type { AnySchema } from '../../schema/standard.ts'
import { failuresOf, isSecret, isWithheld, readStep, type Step, textsOf } from '../routes/binder.ts'
import { misspeltNames } from '../routes/misspelt-query.ts'
import type { Route } from '../routes/route.ts'
import type { Secrets } from '../routes/shown-target.ts'
import type { ShownTexts } from '../routes/shown-texts.ts'
import type { CheckedBody } from './checked-body.ts'
import type { ExplainedArgument } from './explanation.ts'

/**
 * @param values of the template's parameters
 * @param secrets of all routes that the client may have meant
 */
export function explainArguments(
  route: Route,
  request: HttpRequest,
  values: readonly string[],
  secrets: Secrets,
  texts: ShownTexts,
  checked: CheckedBody,
): ExplainedArgument[] {
  const { steps, body } = route
  const misspelt = misspeltNames(steps, request.queryString)
  const parameters = steps.map((step) => ({
    ...explainParameter(step, request, values, isHidden(step, route, secrets), texts),
    misspelt: misspelt.get(step) ?? null,
  }))
  return body === null ? parameters : [...parameters, explainBodyArgument(body.declared, checked)]
}

/** Whether another route that the client may have meant declares it secret. */
function isHidden({ source, index, key }: Step, { template }: Route, secrets: Secrets): boolean {
  if (source === 'query') return secrets.hidesQuery(key)
  if (source !== 'path') return source === 'header' && secrets.fields.has(key)
  const { segmentIndex, rest } = template.parameters[index]!
  return rest ? secrets.hidesRest(segmentIndex) : secrets.hidesSegment(segmentIndex)
}

function explainParameter(
  step: Step,
  request: HttpRequest,
  values: readonly string[],
  hidden: boolean,
  texts: ShownTexts,
): Omit<ExplainedArgument, 'misspelt'> {
  const { name, source, schema } = step
  const isChecked = schema === null || schema instanceof Schema
  const value = isChecked ? readStep(step, request, values) : undefined
  const received = textsOf(step, request, values)
  return {
    name,
    in: source,
    expected: schema === null ? 'a string' : expectationOf(schema),
    presence: presenceOf(schema),
    received: hidden || isWithheld(step) || isSecret(step) ? hiddenOf(received) : receivedOf(step, received, texts),
    failures: value instanceof Mismatch ? shownFailures(failuresOf(step, hidden ? value.hidden() : value)) : [],
    isChecked,
  }
}

function explainBodyArgument({ kind, schema, isOptional }: TypedBody, { isChecked, error }: CheckedBody): ExplainedArgument {
  return {
    name: 'body',
    in: 'body',
    expected: kind === 'multipart' ? 'a multipart form' : schema === null ? kind : expectationOf(schema),
    presence: !isOptional ? 'required' : schema instanceof Schema && schema.hasDefault ? 'default' : 'optional',
    received: null,
    misspelt: null,
    failures: error instanceof InvalidBodyError ? shownFailures(error.failures) : [],
    isChecked,
  }
}

function expectationOf(schema: AnySchema): string {
  return schema instanceof Schema ? schema.describe() : `${PASSES_SCHEMA} (${schema['~standard'].vendor})`
}

/** A schema of another library does not tell. */
function presenceOf(schema: AnySchema | null): ExplainedArgument['presence'] {
  if (!(schema instanceof Schema)) return 'required'
  return schema.hasDefault ? 'default' : schema.isOptional ? 'optional' : 'required'
}

function hiddenOf(received: readonly string[]): string | null {
  return received.length === 0 ? null : NOT_SHOWN
}

/** Of more, nothing would be shown: each takes at least the two characters between it and the next. */
const MOST_SHOWN = 51

function receivedOf({ source, key }: Step, received: readonly string[], texts: ShownTexts): string | null {
  if (received.length === 0) return null
  const shown = received.slice(0, MOST_SHOWN)
  return shorten(
    shown.map((text) => (source === 'header' ? texts.field(key, text) : texts.value(source === 'query' ? key : '', text))).join(', '),
  )
}
