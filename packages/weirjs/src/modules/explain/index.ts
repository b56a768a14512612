// The public API of weirjs/explain: the types of the parts of what `server.explain` returns.

export type {
  ExplainedAnswer,
  ExplainedArgument,
  ExplainedBody,
  ExplainedClient,
  ExplainedHostRule,
  ExplainedPolicy,
  ExplainedResponse,
  ExplainedRoute,
  Explanation,
  RejectedRoute,
  Rejection,
} from '../../app/explain/explanation.ts'
export type { Level, Setting } from '../../app/routes/scope.ts'
