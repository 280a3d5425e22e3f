/** Generated from openapi.json by `npm run types`: do not edit. */
export interface paths {
    "/api/changes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Changes
         * @description `run` with a RunItem whenever a run of any process has changed.
         */
        get: operations["changes_api_changes_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/project": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show Project
         * @description The project that is served, and who answers its model steps.
         */
        get: operations["show_project_api_project_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/runs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List Runs
         * @description The newest runs first; `search` looks at ids, names and files.
         */
        get: operations["list_runs_api_runs_get"];
        put?: never;
        /**
         * Start Run
         * @description Starts a run of a workflow file of the project; this server drives it.
         *
         *     201: it was started. 200: a run with this key exists already, and this is its id; if nobody
         *     drove it any more, it goes on.
         */
        post: operations["start_run_api_runs_post"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/runs/{run}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show Run
         * @description One run: its result so far, what it waits for, what may be asked of it.
         */
        get: operations["show_run_api_runs__run__get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/runs/{run}/accept": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Accept
         * @description Ends a loop with the result of an iteration; later steps run (again) with it.
         */
        post: operations["accept_api_runs__run__accept_post"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/runs/{run}/approve": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Approve
         * @description Says yes to a question of a run. 409: it is answered already, or not asked.
         */
        post: operations["approve_api_runs__run__approve_post"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/runs/{run}/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Cancel
         * @description Ends the run for good; what it has made so far stays.
         */
        post: operations["cancel_api_runs__run__cancel_post"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/runs/{run}/compare": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Compare
         * @description Two iterations of a loop side by side.
         */
        get: operations["compare_api_runs__run__compare_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/runs/{run}/continue": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Continue Run
         * @description Gives a loop more iterations; later steps run again as second attempts.
         *
         *     A loop that is still going on is given more only with `seen`, so that a button that is pressed
         *     twice does not double it.
         */
        post: operations["continue_run_api_runs__run__continue_post"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/runs/{run}/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Events
         * @description The journal of a run: a page of it, or (`Accept: text/event-stream`) all that comes.
         *
         *     Events of the stream: an entry (its seq is the id), `delta` with streamed text (what is new, or
         *     with `whole` all of it so far, for those who come late), `status` when the run's status
         *     changes, `end` when it has ended. It goes on, in case the run does.
         */
        get: operations["events_api_runs__run__events_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/runs/{run}/fork": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Fork
         * @description Starts a new run that keeps the iterations before `at` and redoes that one.
         *
         *     201: it was started. 200: a fork with this key exists already, and this is its id.
         */
        post: operations["fork_api_runs__run__fork_post"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/runs/{run}/graph": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show Run Graph
         * @description The version of the workflow that the run pins, as nodes and edges.
         */
        get: operations["show_run_graph_api_runs__run__graph_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/runs/{run}/iterations": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List Iterations
         * @description The finished iterations of a loop, by number.
         */
        get: operations["list_iterations_api_runs__run__iterations_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/runs/{run}/iterations/{number}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show Iteration
         * @description What the steps of an iteration gave, and what it was given.
         */
        get: operations["show_iteration_api_runs__run__iterations__number__get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/runs/{run}/loops": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List Loops
         * @description The loops of a run; nested ones once for each outer iteration.
         */
        get: operations["list_loops_api_runs__run__loops_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/runs/{run}/matrix": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show Matrix
         * @description Which step gave something else in which iteration; of long loops, the newest.
         */
        get: operations["show_matrix_api_runs__run__matrix_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/runs/{run}/node": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show Node
         * @description What happened at a step: each attempt with what it was given and what it gave.
         */
        get: operations["show_node_api_runs__run__node_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/runs/{run}/pause": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Pause
         * @description Lets what is under way end, and begins nothing new.
         */
        post: operations["pause_api_runs__run__pause_post"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/runs/{run}/reject": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Reject
         * @description Says no to a question of a run. 409: it is answered already, or not asked.
         */
        post: operations["reject_api_runs__run__reject_post"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/runs/{run}/resume": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Resume
         * @description Goes on after a pause or a crash; of a failed run, tries again what failed.
         */
        post: operations["resume_api_runs__run__resume_post"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/runs/{run}/source": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show Run Source
         * @description The texts of the version that the run pins.
         */
        get: operations["show_run_source_api_runs__run__source_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/runs/{run}/values/{ref}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show Value
         * @description A value that an event only refers to.
         */
        get: operations["show_value_api_runs__run__values__ref__get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/validate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Validate
         * @description Checks a file of the project, or a text. Nothing is run and nothing is fetched.
         */
        post: operations["validate_api_validate_post"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/workflows": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List Workflows
         * @description The workflow files of the project, of any dialect.
         */
        get: operations["list_workflows_api_workflows_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/workflows/graph": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show File Graph
         * @description A workflow file as nodes and edges.
         */
        get: operations["show_file_graph_api_workflows_graph_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/workflows/source": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show File Source
         * @description A workflow file with the files that it is made of.
         */
        get: operations["show_file_source_api_workflows_source_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        /**
         * Accept
         * @description Ends a loop with the result of an iteration.
         */
        Accept: {
            /** Iteration */
            iteration: number;
            /** Loop */
            loop?: string | null;
            /** Seen */
            seen?: number | null;
        };
        /**
         * Attempt
         * @description One time that a step was carried out.
         */
        Attempt: {
            /** Address */
            address: string;
            /** Ended At */
            ended_at: number | null;
            /** Error */
            error: unknown;
            /** In Doubt */
            in_doubt: boolean;
            /** Inputs */
            inputs: unknown;
            /** Model */
            model: string | null;
            /** Number */
            number: number;
            /** Output */
            output: unknown;
            /** Seconds */
            seconds: number | null;
            /** Started At */
            started_at: number | null;
            /** Status */
            status: string;
            usage: components["schemas"]["UsageItem"];
        };
        /**
         * Cancel
         * @description Ends the run for good.
         */
        Cancel: {
            /**
             * Feedback
             * @default
             */
            feedback: string;
            /** Seen */
            seen?: number | null;
        };
        /**
         * Comparison
         * @description Two iterations of a loop side by side.
         */
        Comparison: {
            /**
             * Feedback
             * @description the carried values that the second of them was given
             */
            feedback: {
                [key: string]: unknown;
            };
            /** Loop */
            loop: string;
            /** Nodes */
            nodes: components["schemas"]["NodeChange"][];
            one: components["schemas"]["Side"];
            other: components["schemas"]["Side"];
        };
        /**
         * Continue
         * @description Reopens a loop for more iterations, or every loop that stopped for its budget.
         *
         *     At least one of the amounts is needed.
         */
        Continue: {
            /**
             * Budget Usd
             * @description added to the budget
             */
            budget_usd?: number | null;
            /**
             * Calls
             * @description added to the budget
             */
            calls?: number | null;
            /** Iterations */
            iterations?: number | null;
            /** Loop */
            loop?: string | null;
            /** Seen */
            seen?: number | null;
            /**
             * Tokens
             * @description added to the budget
             */
            tokens?: number | null;
        };
        /**
         * Decision
         * @description A person's answer to one question.
         *
         *     It is refused when that question is answered already or is not open: an answer that comes late,
         *     or twice, never reaches another question.
         */
        Decision: {
            /**
             * Address
             * @description the question that is answered, as `gates` of the run names it
             */
            address: string;
            /**
             * Feedback
             * @default
             */
            feedback: string;
            /** Seen */
            seen?: number | null;
        };
        /**
         * Diagnostic
         * @description One finding about a workflow file; line and column count from 1.
         */
        Diagnostic: {
            /** Code */
            code: string;
            /** Column */
            column?: number | null;
            /** File */
            file?: string | null;
            /**
             * Help
             * @default
             */
            help: string;
            /**
             * Label
             * @default
             */
            label: string;
            /** Line */
            line?: number | null;
            /** Message */
            message: string;
            /** Severity */
            severity: string;
        };
        /**
         * ErrorAnswer
         * @description The answer to every request that was not carried out.
         */
        ErrorAnswer: {
            error: components["schemas"]["Fault"];
        };
        /**
         * EventPage
         * @description A part of a journal; with `as=dialect`, in the words of the file's own dialect.
         */
        EventPage: {
            /** Events */
            events: components["schemas"]["JournalEvent"][] | {
                [key: string]: unknown;
            }[];
            /**
             * Last Seq
             * @description the last entry that this page covers; give it as `after`
             */
            last_seq: number;
            /** More */
            more: boolean;
        };
        /**
         * Fault
         * @description What went wrong, and what to do.
         */
        Fault: {
            /**
             * Code
             * @description a stable code; `whorl explain CODE` says more
             */
            code: string;
            /**
             * Diagnostics
             * @description where the request is about a file: everything wrong in it
             */
            diagnostics?: components["schemas"]["Diagnostic"][] | null;
            /**
             * Help
             * @default
             */
            help: string;
            /** Message */
            message: string;
        };
        /**
         * Fork
         * @description A new run that keeps the iterations before `at` and redoes that one.
         */
        Fork: {
            /**
             * At
             * @description such as polish[2]
             */
            at: string;
            /** Budget Usd */
            budget_usd?: number | null;
            /**
             * Key
             * @description at most one fork is ever made for it
             */
            key?: string | null;
            /**
             * Set
             * @description other inputs, carried values or variables
             */
            set?: {
                [key: string]: unknown;
            };
        };
        /**
         * Forked
         * @description The new run.
         */
        Forked: {
            /** Created */
            created: boolean;
            /** Run */
            run: string;
        };
        /**
         * GateItem
         * @description A decision that a run waits for.
         */
        GateItem: {
            /** Address */
            address: string;
            /** Message */
            message: string;
            /**
             * Reason
             * @description gate, iteration, limit, or what else asks
             */
            reason: string;
            /** Show */
            show: unknown;
            /** Waiting Since */
            waiting_since: number;
        };
        /**
         * Graph
         * @description A workflow as a picture shows it; workflows that it calls lie in the steps that call them.
         */
        Graph: {
            /** Dialect */
            dialect: string;
            /** Edges */
            edges: components["schemas"]["GraphEdge"][];
            /** Name */
            name: string;
            /**
             * Nodes
             * @description each after the one that it lies in
             */
            nodes: components["schemas"]["GraphNode"][];
        };
        /**
         * GraphEdge
         * @description An arrow between two steps of the same parent.
         */
        GraphEdge: {
            /** From */
            from: string;
            /**
             * Kind
             * @enum {string}
             */
            kind: "order" | "feedback";
            /** Label */
            label: string;
            /** To */
            to: string;
        };
        /**
         * GraphLoop
         * @description What a loop is made of, in words and numbers.
         */
        GraphLoop: {
            /** Ask */
            ask: string;
            /** Carry */
            carry: string[];
            /** Check */
            check: string;
            /** Limits */
            limits: {
                [key: string]: unknown;
            };
            /** On Limit */
            on_limit: string;
            /** Returns */
            returns: string;
            /** Target */
            target: number | null;
            /** Until */
            until: string;
        };
        /**
         * GraphNode
         * @description A step. Its `path` is the address of its events without `[n]` and `#n`.
         */
        GraphNode: {
            /**
             * Case
             * @description inside of a branch: in which case it lies
             */
            case: string | null;
            /** Detail */
            detail: string;
            /**
             * Kind
             * @enum {string}
             */
            kind: "loop" | "foreach" | "branch" | "group" | "call" | "task" | "compute" | "assign" | "wait" | "gate" | "stop" | "break" | "continue";
            loop: components["schemas"]["GraphLoop"] | null;
            /** Model */
            model: string | null;
            /** Name */
            name: string;
            /**
             * Parent
             * @description the path of the step that it lies in; empty at the top
             */
            parent: string;
            /** Path */
            path: string;
            /** Task */
            task: string | null;
            /** Title */
            title: string;
            /**
             * When
             * @description a condition under which it runs
             */
            when: string | null;
        };
        /**
         * InputItem
         * @description An input of a workflow.
         */
        InputItem: {
            /** Default */
            default: unknown;
            /** Description */
            description: string;
            /** Name */
            name: string;
            /** Required */
            required: boolean;
            /** Type */
            type: string;
        };
        /**
         * IterationDetail
         * @description What an iteration was given and what it gave.
         */
        IterationDetail: {
            /** Carried */
            carried: {
                [key: string]: unknown;
            };
            /** Loop */
            loop: string;
            /** Note */
            note: {
                [key: string]: unknown;
            };
            /** Number */
            number: number;
            /** Results */
            results: {
                [key: string]: unknown;
            };
        };
        /**
         * IterationItem
         * @description A finished iteration.
         */
        IterationItem: {
            /** At */
            at: number;
            /** Best */
            best: boolean;
            /** Met */
            met: boolean;
            /** Number */
            number: number;
            /** Score */
            score: number | null;
            /** Seconds */
            seconds: number;
            /** Seq */
            seq: number;
            /** Status */
            status: string;
            usage: components["schemas"]["UsageItem"];
            /** Verdicts */
            verdicts: components["schemas"]["Verdict"][];
            /** Words */
            words: string;
        };
        /**
         * IterationList
         * @description Iterations of a loop, by number.
         */
        IterationList: {
            /** Iterations */
            iterations: components["schemas"]["IterationItem"][];
            /** Loop */
            loop: string;
            /** More */
            more: boolean;
        };
        /**
         * JournalEvent
         * @description An entry of the journal. A large value in `body` is `{"$ref", "size", "preview"}`.
         */
        JournalEvent: {
            /** Address */
            address: string;
            /** At */
            at: number;
            /** Body */
            body: {
                [key: string]: unknown;
            };
            /** Kind */
            kind: string;
            /** Run */
            run: string;
            /** Seq */
            seq: number;
        };
        /**
         * LargeValue
         * @description A value that an event only referred to.
         */
        LargeValue: {
            /** Value */
            value: unknown;
        };
        /**
         * LoopItem
         * @description A loop of a run.
         */
        LoopItem: {
            /** Address */
            address: string;
            /** Best Iteration */
            best_iteration: number | null;
            /** Exit Reason */
            exit_reason: string | null;
            /** Failed Iterations */
            failed_iterations: number[];
            /** Finished Seq */
            finished_seq: number | null;
            /** Iterations */
            iterations: number;
            /**
             * Iterations Max
             * @description as it is now; it may have been raised
             */
            iterations_max: number | null;
            /** Limits */
            limits: {
                [key: string]: unknown;
            };
            /**
             * Mark
             * @description where it ended at a limit or budget although its condition could have been met
             */
            mark: ("limit" | "budget") | null;
            /** Path */
            path: string;
            /** Returned Iteration */
            returned_iteration: number | null;
            /** Score */
            score: number | null;
            /** Started Seq */
            started_seq: number;
            /**
             * State
             * @enum {string}
             */
            state: "running" | "finished";
            /** Stopped By */
            stopped_by: string | null;
            /** Target */
            target: number | null;
            /**
             * Until
             * @description its condition in words
             */
            until: string;
            usage: components["schemas"]["UsageItem"];
            /**
             * Why
             * @description why it ended, in words
             */
            why: string;
        };
        /**
         * LoopList
         * @description The loops of a run, in the order in which they began; of very many, the newest.
         */
        LoopList: {
            /** Loops */
            loops: components["schemas"]["LoopItem"][];
            /**
             * More
             * @description whether there are older ones that are not listed
             */
            more: boolean;
        };
        /**
         * Matrix
         * @description What changed when: steps by iterations.
         */
        Matrix: {
            /** Iterations */
            iterations: components["schemas"]["MatrixRow"][];
            /** Loop */
            loop: string;
            /** Nodes */
            nodes: string[];
        };
        /**
         * MatrixRow
         * @description One iteration: for each step how its result differs from the one before.
         */
        MatrixRow: {
            /** Cells */
            cells: {
                [key: string]: "new" | "small" | "same" | "none";
            };
            /** Number */
            number: number;
        };
        /**
         * NewRun
         * @description A run to be started; `key` makes sure that at most one is ever started for it.
         */
        NewRun: {
            /** Budget Usd */
            budget_usd?: number | null;
            /** Inputs */
            inputs?: {
                [key: string]: unknown;
            };
            /** Key */
            key?: string | null;
            /** Max Iterations */
            max_iterations?: number | null;
            /** Workflow */
            workflow: string;
        };
        /**
         * NodeChange
         * @description How much the result of a step differs between two iterations.
         */
        NodeChange: {
            /** Name */
            name: string;
            /** Same */
            same: boolean;
            /**
             * Similarity
             * @description from 0 to 1
             */
            similarity: number;
        };
        /**
         * NodeDetail
         * @description All that happened at one step.
         */
        NodeDetail: {
            /** Address */
            address: string;
            /** Attempts */
            attempts: components["schemas"]["Attempt"][];
            /** Kind */
            kind: string;
            previous: components["schemas"]["Previous"] | null;
            /**
             * Value
             * @description of a step that only computes, what it gave
             */
            value: unknown;
        };
        /**
         * Previous
         * @description The same step in the iteration before.
         */
        Previous: {
            /** Address */
            address: string;
            /** Output */
            output: unknown;
        };
        /**
         * ProjectItem
         * @description The project that is served.
         */
        ProjectItem: {
            /** Name */
            name: string;
            provider: components["schemas"]["ProviderItem"];
            /** Root */
            root: string;
            /** Version */
            version: string;
            /** Workflows */
            workflows: number;
        };
        /**
         * ProviderItem
         * @description Who answers the model steps.
         */
        ProviderItem: {
            /** Name */
            name: string;
            /** Note */
            note: string;
        };
        /**
         * Request
         * @description What all requests to a run may say.
         *
         *     `seen` is the last seq that the asker knew of: the request is refused when somebody has steered
         *     the run since, so a button that is pressed twice has one effect.
         */
        Request: {
            /** Seen */
            seen?: number | null;
        };
        /**
         * Result
         * @description The result document, as `whorl run --json` prints it.
         */
        Result: {
            /** Error */
            error: unknown;
            /** Loops */
            loops: components["schemas"]["ResultLoop"][];
            /** Output */
            output: unknown;
            /** Outputs */
            outputs: {
                [key: string]: unknown;
            };
            /** Run */
            run: string;
            /**
             * Status
             * @enum {string}
             */
            status: "running" | "waiting" | "paused" | "interrupted" | "succeeded" | "failed" | "cancelled";
            usage: components["schemas"]["UsageItem"];
            /** Warnings */
            warnings: unknown[];
        };
        /**
         * ResultLoop
         * @description A loop of the result document.
         */
        ResultLoop: {
            /** Best Iteration */
            best_iteration: number | null;
            /** Exit Reason */
            exit_reason: string | null;
            /** Failed Iterations */
            failed_iterations: number[];
            /** Iterations */
            iterations: number;
            /** Mark */
            mark?: ("limit" | "budget") | null;
            /** Path */
            path: string;
            /** Returned Iteration */
            returned_iteration: number | null;
            /** Score */
            score: number | null;
            /** Stopped By */
            stopped_by: string | null;
            usage: components["schemas"]["UsageItem"];
        };
        /**
         * Resume
         * @description Goes on after a pause or a crash; of a failed run, tries again what failed.
         */
        Resume: {
            /**
             * Budget Usd
             * @description added to the budget
             */
            budget_usd?: number | null;
            /**
             * Calls
             * @description added to the budget
             */
            calls?: number | null;
            /** Seen */
            seen?: number | null;
            /**
             * Tokens
             * @description added to the budget
             */
            tokens?: number | null;
        };
        /**
         * RunDetail
         * @description All that a page about one run begins with.
         */
        RunDetail: {
            /** Budget Usd */
            budget_usd: number | null;
            /** Calls */
            calls: number;
            /**
             * Can
             * @description what may be asked of the run as it is
             */
            can: ("pause" | "resume" | "cancel" | "continue" | "accept" | "fork" | "approve" | "reject")[];
            /** Cost Usd */
            cost_usd: number;
            /** Created At */
            created_at: number;
            /** Dialect */
            dialect: string;
            /**
             * Driver
             * @description who drives it: this server, another process, nobody
             * @enum {string}
             */
            driver: "here" | "elsewhere" | "nobody";
            /**
             * Due
             * @description when a run that waits goes on by itself
             */
            due: number | null;
            /** Ended At */
            ended_at: number | null;
            /** Error */
            error: string | null;
            /** Exit Reason */
            exit_reason: string | null;
            /**
             * File
             * @description relative to the project, where it lies in it
             */
            file: string;
            /** Forks */
            forks: string[];
            /** Gates */
            gates: components["schemas"]["GateItem"][];
            /**
             * Held
             * @description why a server did not take an interrupted run up
             */
            held: string | null;
            /** Id */
            id: string;
            /** In Doubt */
            in_doubt: number;
            /** Inputs */
            inputs: {
                [key: string]: unknown;
            };
            /** Iteration */
            iteration: number;
            /** Iterations Max */
            iterations_max: number;
            /** Last Seq */
            last_seq: number;
            /** Limits */
            limits: {
                [key: string]: unknown;
            };
            /**
             * Loop
             * @description address of the outermost loop that runs, or ran last
             */
            loop: string | null;
            /**
             * Mark
             * @description of a run that succeeded with a loop that ended at a limit or budget
             */
            mark: ("limit" | "budget") | null;
            /** Name */
            name: string;
            /**
             * Origin
             * @description who started it: server, detached (in the background), terminal, python
             */
            origin: string | null;
            /**
             * Parent
             * @description the run that this one is a fork of
             */
            parent: string | null;
            result: components["schemas"]["Result"];
            /** Score */
            score: number | null;
            /**
             * Scores
             * @description of the newest 20 iterations of that loop
             */
            scores: (number | null)[];
            /** Started At */
            started_at: number;
            /**
             * Status
             * @enum {string}
             */
            status: "running" | "waiting" | "paused" | "interrupted" | "succeeded" | "failed" | "cancelled";
            /** Stopped By */
            stopped_by: string | null;
            /**
             * Target
             * @description the score that the loop works towards
             */
            target: number | null;
            /** Tokens */
            tokens: number;
            /** Updated At */
            updated_at: number;
            /** Warnings */
            warnings: string[];
        };
        /**
         * RunItem
         * @description A run as lists show it. Times are seconds since the epoch.
         */
        RunItem: {
            /** Budget Usd */
            budget_usd: number | null;
            /** Calls */
            calls: number;
            /** Cost Usd */
            cost_usd: number;
            /** Created At */
            created_at: number;
            /** Dialect */
            dialect: string;
            /**
             * Due
             * @description when a run that waits goes on by itself
             */
            due: number | null;
            /** Error */
            error: string | null;
            /** Exit Reason */
            exit_reason: string | null;
            /**
             * File
             * @description relative to the project, where it lies in it
             */
            file: string;
            /**
             * Held
             * @description why a server did not take an interrupted run up
             */
            held: string | null;
            /** Id */
            id: string;
            /** In Doubt */
            in_doubt: number;
            /** Iteration */
            iteration: number;
            /** Iterations Max */
            iterations_max: number;
            /** Last Seq */
            last_seq: number;
            /**
             * Loop
             * @description address of the outermost loop that runs, or ran last
             */
            loop: string | null;
            /**
             * Mark
             * @description of a run that succeeded with a loop that ended at a limit or budget
             */
            mark: ("limit" | "budget") | null;
            /** Name */
            name: string;
            /**
             * Origin
             * @description who started it: server, detached (in the background), terminal, python
             */
            origin: string | null;
            /**
             * Parent
             * @description the run that this one is a fork of
             */
            parent: string | null;
            /** Score */
            score: number | null;
            /**
             * Scores
             * @description of the newest 20 iterations of that loop
             */
            scores: (number | null)[];
            /**
             * Status
             * @enum {string}
             */
            status: "running" | "waiting" | "paused" | "interrupted" | "succeeded" | "failed" | "cancelled";
            /** Stopped By */
            stopped_by: string | null;
            /**
             * Target
             * @description the score that the loop works towards
             */
            target: number | null;
            /** Tokens */
            tokens: number;
            /** Updated At */
            updated_at: number;
        };
        /**
         * RunList
         * @description A page of the list, the newest runs first.
         */
        RunList: {
            /**
             * Next
             * @description give it as `before` for the next page
             */
            next: string | null;
            /** Runs */
            runs: components["schemas"]["RunItem"][];
            /**
             * Workflows
             * @description the names of all workflows that have runs
             */
            workflows: string[];
        };
        /**
         * Side
         * @description One of two iterations that are compared.
         */
        Side: {
            /** Cost Usd */
            cost_usd: number;
            /** Number */
            number: number;
            /** Results */
            results: {
                [key: string]: unknown;
            };
            /** Score */
            score: number | null;
            /** Seconds */
            seconds: number;
            /** Tokens */
            tokens: number;
            /** Verdicts */
            verdicts: components["schemas"]["Verdict"][];
        };
        /**
         * SourceItem
         * @description The texts that a workflow is made of.
         */
        SourceItem: {
            /** Dialect */
            dialect: string;
            /** Files */
            files: {
                [key: string]: string;
            };
            /** Main */
            main: string;
        };
        /**
         * Started
         * @description The run that was started, or the one that has the key already.
         */
        Started: {
            /** Created */
            created: boolean;
            /**
             * Forecast
             * @description what it may do and cost, in words
             * @default
             */
            forecast: string;
            /**
             * Note
             * @description who answers, where it is no real model
             * @default
             */
            note: string;
            /** Run */
            run: string;
            /**
             * Status
             * @description of the run, as lists show it
             * @default running
             */
            status: string;
        };
        /**
         * UsageItem
         * @description What was used, counted once, at the call.
         */
        UsageItem: {
            /**
             * Calls
             * @default 0
             */
            calls: number;
            /**
             * Cost Usd
             * @default 0
             */
            cost_usd: number;
            /**
             * In Doubt
             * @default 0
             */
            in_doubt: number;
            /**
             * Input Tokens
             * @default 0
             */
            input_tokens: number;
            /**
             * Output Tokens
             * @default 0
             */
            output_tokens: number;
            /**
             * Unpriced Calls
             * @default 0
             */
            unpriced_calls: number;
        };
        /**
         * Validated
         * @description Everything that was found; a file without errors has a name and a worst case.
         */
        Validated: {
            /** Diagnostics */
            diagnostics: components["schemas"]["Diagnostic"][];
            /** Dialect */
            dialect: string | null;
            /** Name */
            name: string | null;
            /** Ok */
            ok: boolean;
            worst_case: components["schemas"]["WorstCase"] | null;
        };
        /**
         * Validation
         * @description A file of the project, or a text with the name that it would have.
         */
        Validation: {
            /** Name */
            name?: string | null;
            /** Text */
            text?: string | null;
            /** Workflow */
            workflow?: string | null;
        };
        /**
         * Verdict
         * @description What one condition came to at the end of an iteration.
         */
        Verdict: {
            /** By */
            by: string;
            /** Facts */
            facts: {
                [key: string]: unknown;
            };
            /** Met */
            met: boolean | null;
            /** Words */
            words: string;
        };
        /**
         * WorkflowItem
         * @description A workflow file of the project.
         */
        WorkflowItem: {
            /** Description */
            description: string;
            /** Dialect */
            dialect: string;
            /** Errors */
            errors: number;
            /** File */
            file: string;
            /** Inputs */
            inputs: components["schemas"]["InputItem"][];
            /** Main Input */
            main_input: string | null;
            /** Name */
            name: string;
            /**
             * Open Inputs
             * @description whether it takes inputs that it does not declare
             */
            open_inputs: boolean;
        };
        /**
         * WorkflowList
         * @description The workflow files of the project.
         */
        WorkflowList: {
            /** Workflows */
            workflows: components["schemas"]["WorkflowItem"][];
        };
        /**
         * WorstCase
         * @description What a run may do and cost; null where a value decides, or no price is known.
         */
        WorstCase: {
            /**
             * Bound Usd
             * @description the most, where something bounds it
             */
            bound_usd: number | null;
            /**
             * Calls
             * @description the most
             */
            calls: number | null;
            /**
             * Cost Usd
             * @description an estimate
             */
            cost_usd: number | null;
            /** Words */
            words: string;
        };
    };
    responses: {
        /** @description the request does not have its shape */
        Error400: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["ErrorAnswer"];
            };
        };
        /** @description the token is missing or wrong */
        Error401: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["ErrorAnswer"];
            };
        };
        /** @description the request comes from another site, or the folder's whorl.toml is not trusted */
        Error403: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["ErrorAnswer"];
            };
        };
        /** @description there is no such thing */
        Error404: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["ErrorAnswer"];
            };
        };
        /** @description the address has no such method */
        Error405: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["ErrorAnswer"];
            };
        };
        /** @description the request did not arrive in time */
        Error408: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["ErrorAnswer"];
            };
        };
        /** @description it does not fit the run as it is */
        Error409: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["ErrorAnswer"];
            };
        };
        /** @description the body is too large */
        Error413: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["ErrorAnswer"];
            };
        };
        /** @description the body is no JSON */
        Error415: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["ErrorAnswer"];
            };
        };
        /** @description the Host is not this server */
        Error421: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["ErrorAnswer"];
            };
        };
        /** @description too many wrong tokens, or too many streams */
        Error429: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["ErrorAnswer"];
            };
        };
        /** @description the store cannot be used, or the answer takes too long */
        Error503: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["ErrorAnswer"];
            };
        };
    };
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    changes_api_changes_get: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description an event stream */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": string;
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            405: components["responses"]["Error405"];
            408: components["responses"]["Error408"];
            409: components["responses"]["Error409"];
            413: components["responses"]["Error413"];
            415: components["responses"]["Error415"];
            421: components["responses"]["Error421"];
            429: components["responses"]["Error429"];
            503: components["responses"]["Error503"];
        };
    };
    show_project_api_project_get: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ProjectItem"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            405: components["responses"]["Error405"];
            408: components["responses"]["Error408"];
            409: components["responses"]["Error409"];
            413: components["responses"]["Error413"];
            415: components["responses"]["Error415"];
            421: components["responses"]["Error421"];
            429: components["responses"]["Error429"];
            503: components["responses"]["Error503"];
        };
    };
    list_runs_api_runs_get: {
        parameters: {
            query?: {
                status?: ("running" | "waiting" | "paused" | "interrupted" | "succeeded" | "failed" | "cancelled") | null;
                workflow?: string | null;
                search?: string | null;
                limit?: number;
                before?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RunList"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            405: components["responses"]["Error405"];
            408: components["responses"]["Error408"];
            409: components["responses"]["Error409"];
            413: components["responses"]["Error413"];
            415: components["responses"]["Error415"];
            421: components["responses"]["Error421"];
            429: components["responses"]["Error429"];
            503: components["responses"]["Error503"];
        };
    };
    start_run_api_runs_post: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewRun"];
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Started"];
                };
            };
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Started"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            405: components["responses"]["Error405"];
            408: components["responses"]["Error408"];
            409: components["responses"]["Error409"];
            413: components["responses"]["Error413"];
            415: components["responses"]["Error415"];
            421: components["responses"]["Error421"];
            429: components["responses"]["Error429"];
            503: components["responses"]["Error503"];
        };
    };
    show_run_api_runs__run__get: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                run: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RunDetail"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            405: components["responses"]["Error405"];
            408: components["responses"]["Error408"];
            409: components["responses"]["Error409"];
            413: components["responses"]["Error413"];
            415: components["responses"]["Error415"];
            421: components["responses"]["Error421"];
            429: components["responses"]["Error429"];
            503: components["responses"]["Error503"];
        };
    };
    accept_api_runs__run__accept_post: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                run: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Accept"];
            };
        };
        responses: {
            /** @description Successful Response */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RunItem"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            405: components["responses"]["Error405"];
            408: components["responses"]["Error408"];
            409: components["responses"]["Error409"];
            413: components["responses"]["Error413"];
            415: components["responses"]["Error415"];
            421: components["responses"]["Error421"];
            429: components["responses"]["Error429"];
            503: components["responses"]["Error503"];
        };
    };
    approve_api_runs__run__approve_post: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                run: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Decision"];
            };
        };
        responses: {
            /** @description Successful Response */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RunItem"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            405: components["responses"]["Error405"];
            408: components["responses"]["Error408"];
            409: components["responses"]["Error409"];
            413: components["responses"]["Error413"];
            415: components["responses"]["Error415"];
            421: components["responses"]["Error421"];
            429: components["responses"]["Error429"];
            503: components["responses"]["Error503"];
        };
    };
    cancel_api_runs__run__cancel_post: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                run: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Cancel"];
            };
        };
        responses: {
            /** @description Successful Response */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RunItem"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            405: components["responses"]["Error405"];
            408: components["responses"]["Error408"];
            409: components["responses"]["Error409"];
            413: components["responses"]["Error413"];
            415: components["responses"]["Error415"];
            421: components["responses"]["Error421"];
            429: components["responses"]["Error429"];
            503: components["responses"]["Error503"];
        };
    };
    compare_api_runs__run__compare_get: {
        parameters: {
            query: {
                loop?: string;
                one: number;
                other: number;
            };
            header?: never;
            path: {
                run: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Comparison"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            405: components["responses"]["Error405"];
            408: components["responses"]["Error408"];
            409: components["responses"]["Error409"];
            413: components["responses"]["Error413"];
            415: components["responses"]["Error415"];
            421: components["responses"]["Error421"];
            429: components["responses"]["Error429"];
            503: components["responses"]["Error503"];
        };
    };
    continue_run_api_runs__run__continue_post: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                run: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Continue"];
            };
        };
        responses: {
            /** @description Successful Response */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RunItem"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            405: components["responses"]["Error405"];
            408: components["responses"]["Error408"];
            409: components["responses"]["Error409"];
            413: components["responses"]["Error413"];
            415: components["responses"]["Error415"];
            421: components["responses"]["Error421"];
            429: components["responses"]["Error429"];
            503: components["responses"]["Error503"];
        };
    };
    events_api_runs__run__events_get: {
        parameters: {
            query?: {
                after?: number;
                limit?: number;
                as?: "journal" | "dialect";
            };
            header?: {
                "last-event-id"?: string | null;
            };
            path: {
                run: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EventPage"];
                    "text/event-stream": string;
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            405: components["responses"]["Error405"];
            408: components["responses"]["Error408"];
            409: components["responses"]["Error409"];
            413: components["responses"]["Error413"];
            415: components["responses"]["Error415"];
            421: components["responses"]["Error421"];
            429: components["responses"]["Error429"];
            503: components["responses"]["Error503"];
        };
    };
    fork_api_runs__run__fork_post: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                run: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Fork"];
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Forked"];
                };
            };
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Forked"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            405: components["responses"]["Error405"];
            408: components["responses"]["Error408"];
            409: components["responses"]["Error409"];
            413: components["responses"]["Error413"];
            415: components["responses"]["Error415"];
            421: components["responses"]["Error421"];
            429: components["responses"]["Error429"];
            503: components["responses"]["Error503"];
        };
    };
    show_run_graph_api_runs__run__graph_get: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                run: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Graph"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            405: components["responses"]["Error405"];
            408: components["responses"]["Error408"];
            409: components["responses"]["Error409"];
            413: components["responses"]["Error413"];
            415: components["responses"]["Error415"];
            421: components["responses"]["Error421"];
            429: components["responses"]["Error429"];
            503: components["responses"]["Error503"];
        };
    };
    list_iterations_api_runs__run__iterations_get: {
        parameters: {
            query?: {
                loop?: string;
                after?: number;
                limit?: number;
            };
            header?: never;
            path: {
                run: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["IterationList"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            405: components["responses"]["Error405"];
            408: components["responses"]["Error408"];
            409: components["responses"]["Error409"];
            413: components["responses"]["Error413"];
            415: components["responses"]["Error415"];
            421: components["responses"]["Error421"];
            429: components["responses"]["Error429"];
            503: components["responses"]["Error503"];
        };
    };
    show_iteration_api_runs__run__iterations__number__get: {
        parameters: {
            query?: {
                loop?: string;
            };
            header?: never;
            path: {
                number: number;
                run: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["IterationDetail"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            405: components["responses"]["Error405"];
            408: components["responses"]["Error408"];
            409: components["responses"]["Error409"];
            413: components["responses"]["Error413"];
            415: components["responses"]["Error415"];
            421: components["responses"]["Error421"];
            429: components["responses"]["Error429"];
            503: components["responses"]["Error503"];
        };
    };
    list_loops_api_runs__run__loops_get: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                run: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LoopList"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            405: components["responses"]["Error405"];
            408: components["responses"]["Error408"];
            409: components["responses"]["Error409"];
            413: components["responses"]["Error413"];
            415: components["responses"]["Error415"];
            421: components["responses"]["Error421"];
            429: components["responses"]["Error429"];
            503: components["responses"]["Error503"];
        };
    };
    show_matrix_api_runs__run__matrix_get: {
        parameters: {
            query?: {
                loop?: string;
                node?: string | null;
            };
            header?: never;
            path: {
                run: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Matrix"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            405: components["responses"]["Error405"];
            408: components["responses"]["Error408"];
            409: components["responses"]["Error409"];
            413: components["responses"]["Error413"];
            415: components["responses"]["Error415"];
            421: components["responses"]["Error421"];
            429: components["responses"]["Error429"];
            503: components["responses"]["Error503"];
        };
    };
    show_node_api_runs__run__node_get: {
        parameters: {
            query: {
                address: string;
            };
            header?: never;
            path: {
                run: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NodeDetail"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            405: components["responses"]["Error405"];
            408: components["responses"]["Error408"];
            409: components["responses"]["Error409"];
            413: components["responses"]["Error413"];
            415: components["responses"]["Error415"];
            421: components["responses"]["Error421"];
            429: components["responses"]["Error429"];
            503: components["responses"]["Error503"];
        };
    };
    pause_api_runs__run__pause_post: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                run: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Request"];
            };
        };
        responses: {
            /** @description Successful Response */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RunItem"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            405: components["responses"]["Error405"];
            408: components["responses"]["Error408"];
            409: components["responses"]["Error409"];
            413: components["responses"]["Error413"];
            415: components["responses"]["Error415"];
            421: components["responses"]["Error421"];
            429: components["responses"]["Error429"];
            503: components["responses"]["Error503"];
        };
    };
    reject_api_runs__run__reject_post: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                run: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Decision"];
            };
        };
        responses: {
            /** @description Successful Response */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RunItem"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            405: components["responses"]["Error405"];
            408: components["responses"]["Error408"];
            409: components["responses"]["Error409"];
            413: components["responses"]["Error413"];
            415: components["responses"]["Error415"];
            421: components["responses"]["Error421"];
            429: components["responses"]["Error429"];
            503: components["responses"]["Error503"];
        };
    };
    resume_api_runs__run__resume_post: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                run: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Resume"];
            };
        };
        responses: {
            /** @description Successful Response */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RunItem"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            405: components["responses"]["Error405"];
            408: components["responses"]["Error408"];
            409: components["responses"]["Error409"];
            413: components["responses"]["Error413"];
            415: components["responses"]["Error415"];
            421: components["responses"]["Error421"];
            429: components["responses"]["Error429"];
            503: components["responses"]["Error503"];
        };
    };
    show_run_source_api_runs__run__source_get: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                run: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SourceItem"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            405: components["responses"]["Error405"];
            408: components["responses"]["Error408"];
            409: components["responses"]["Error409"];
            413: components["responses"]["Error413"];
            415: components["responses"]["Error415"];
            421: components["responses"]["Error421"];
            429: components["responses"]["Error429"];
            503: components["responses"]["Error503"];
        };
    };
    show_value_api_runs__run__values__ref__get: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                ref: string;
                run: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LargeValue"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            405: components["responses"]["Error405"];
            408: components["responses"]["Error408"];
            409: components["responses"]["Error409"];
            413: components["responses"]["Error413"];
            415: components["responses"]["Error415"];
            421: components["responses"]["Error421"];
            429: components["responses"]["Error429"];
            503: components["responses"]["Error503"];
        };
    };
    validate_api_validate_post: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Validation"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Validated"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            405: components["responses"]["Error405"];
            408: components["responses"]["Error408"];
            409: components["responses"]["Error409"];
            413: components["responses"]["Error413"];
            415: components["responses"]["Error415"];
            421: components["responses"]["Error421"];
            429: components["responses"]["Error429"];
            503: components["responses"]["Error503"];
        };
    };
    list_workflows_api_workflows_get: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WorkflowList"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            405: components["responses"]["Error405"];
            408: components["responses"]["Error408"];
            409: components["responses"]["Error409"];
            413: components["responses"]["Error413"];
            415: components["responses"]["Error415"];
            421: components["responses"]["Error421"];
            429: components["responses"]["Error429"];
            503: components["responses"]["Error503"];
        };
    };
    show_file_graph_api_workflows_graph_get: {
        parameters: {
            query: {
                /** @description its path in the project */
                file: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Graph"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            405: components["responses"]["Error405"];
            408: components["responses"]["Error408"];
            409: components["responses"]["Error409"];
            413: components["responses"]["Error413"];
            415: components["responses"]["Error415"];
            421: components["responses"]["Error421"];
            429: components["responses"]["Error429"];
            503: components["responses"]["Error503"];
        };
    };
    show_file_source_api_workflows_source_get: {
        parameters: {
            query: {
                /** @description its path in the project */
                file: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SourceItem"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            405: components["responses"]["Error405"];
            408: components["responses"]["Error408"];
            409: components["responses"]["Error409"];
            413: components["responses"]["Error413"];
            415: components["responses"]["Error415"];
            421: components["responses"]["Error421"];
            429: components["responses"]["Error429"];
            503: components["responses"]["Error503"];
        };
    };
}
