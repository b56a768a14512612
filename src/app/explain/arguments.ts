// How the arguments of a handler are made of one request, without the values of secrets.

import type { TypedBody } from '../../http/body/typed-body.ts'
import type { HttpRequest } from '../../http/request/request.ts'
import { Mismatch, NOT_SHOWN, PASSES_SCHEMA, shorten } from '../../schema/mismatch.ts'
import { Schema } from '../../schema/schema.ts'
import type { AnySchema } from '../../schema/standard.ts'
import { failuresOf, isWithheld, readStep, type Step, textsOf } from '../routes/binder.ts'
import type { Route } from '../routes/route.ts'
import { isSecret } from '../routes/shown-target.ts'

import type { ExplainedArgument } from './explanation.ts'

/** @param values of the template's parameters */
export function explainArguments({ steps, body }: Route, request: HttpRequest, values: readonly string[]): ExplainedArgument[] {
  const parameters = steps.map((step) => explainParameter(step, request, values))
  return body === null ? parameters : [...parameters, explainBodyArgument(body)]
}

function explainParameter(step: Step, request: HttpRequest, values: readonly string[]): ExplainedArgument {
  const { name, source, schema } = step
  const isChecked = schema === null || schema instanceof Schema
  const value = isChecked ? readStep(step, request, values) : undefined
  return {
    name,
    in: source === 'path' ? 'route' : source,
    expected: schema === null ? 'a string' : expectationOf(schema),
    presence: presenceOf(schema),
    received: receivedOf(step, textsOf(step, request, values)),
    failures: value instanceof Mismatch ? failuresOf(step, value) : [],
    isChecked,
  }
}

function explainBodyArgument({ kind, schema, isOptional }: TypedBody): ExplainedArgument {
  return {
    name: 'body',
    in: 'body',
    expected: kind === 'multipart' ? 'a multipart form' : schema === null ? kind : expectationOf(schema),
    presence: !isOptional ? 'required' : schema instanceof Schema && schema.hasDefault ? 'default' : 'optional',
    received: null,
    failures: [],
    isChecked: false,
  }
}

function expectationOf(schema: AnySchema): string {
  return schema instanceof Schema ? schema.describe() : `${PASSES_SCHEMA} (${schema['~standard'].vendor})`
}

/** A schema of another library does not say. */
function presenceOf(schema: AnySchema | null): ExplainedArgument['presence'] {
  if (!(schema instanceof Schema)) return 'required'
  return schema.hasDefault ? 'default' : schema.isOptional ? 'optional' : 'required'
}

function receivedOf(step: Step, texts: readonly string[]): string | null {
  if (texts.length === 0) return null
  return isWithheld(step) || isSecret(step) ? NOT_SHOWN : shorten(texts.join(', '))
}
