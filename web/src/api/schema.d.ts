/** Generated from openapi.json by `npm run types`: do not edit. */
export interface paths {
    "/api/audit": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List Audit
         * @description Who did what, over HTTP and on the command line, the newest first.
         */
        get: operations["list_audit_api_audit_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/changes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Changes
         * @description `run` with a RunItem whenever a run of any process has changed, as lists show them.
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
    "/api/costs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show Costs
         * @description What runs cost, by workflow, model, day, loop or run; by step and iteration of the newest.
         */
        get: operations["show_costs_api_costs_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/experiments": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List Experiments
         * @description The experiment files of the project, and experiments of which only runs are left.
         */
        get: operations["list_experiments_api_experiments_get"];
        put?: never;
        /**
         * Run Experiment
         * @description Runs what is missing of an experiment, on this server or another one.
         *
         *     403: the role `run` cannot give it more budget than its file does. 409: it is running already.
         */
        post: operations["run_experiment_api_experiments_post"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/experiments/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show Experiment
         * @description How far an experiment is.
         */
        get: operations["show_experiment_api_experiments__name__get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/experiments/{name}/cases": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List Cases
         * @description A row for each case, with the grade of each variant and links to the runs.
         */
        get: operations["list_cases_api_experiments__name__cases_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/experiments/{name}/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Experiment Events
         * @description `experiment` with an ExperimentDetail whenever that changes.
         */
        get: operations["experiment_events_api_experiments__name__events_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/experiments/{name}/facts": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List Facts
         * @description What the conditions of a loop saw in each iteration of each run, with grades and costs.
         *
         *     With it any rule over the same conditions is answered without asking again.
         */
        get: operations["list_facts_api_experiments__name__facts_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/experiments/{name}/judge": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show Judge
         * @description How far a judge agrees with the labels of a grader.
         */
        get: operations["show_judge_api_experiments__name__judge_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/experiments/{name}/queue": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List Gradings
         * @description Results that wait for a person's grade; approve and reject of the run answer.
         */
        get: operations["list_gradings_api_experiments__name__queue_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/experiments/{name}/report": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Report
         * @description What an experiment found so far; nothing is run.
         */
        get: operations["report_api_experiments__name__report_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/experiments/{name}/stop": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Stop Experiment
         * @description Begins no more trials; running trials finish. 409: it is not running.
         */
        post: operations["stop_experiment_api_experiments__name__stop_post"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/experiments/{name}/what-if": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * What If
         * @description What a rule, or without one many of them, would have given and cost; no call is made.
         */
        post: operations["what_if_api_experiments__name__what_if_post"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/palette": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show Palette
         * @description The kinds of steps that can be added to files of a format, with their forms.
         */
        get: operations["show_palette_api_palette_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/pins": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List Pins
         * @description The results that tries use instead of steps of a file.
         */
        get: operations["list_pins_api_pins_get"];
        /**
         * Save Pins
         * @description Keeps results for steps of a file, instead of those kept before; none: deletes them.
         */
        put: operations["save_pins_api_pins_put"];
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
         * @description The project that is served, who answers its model steps, and what this token may do.
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
         * @description The newest runs first, or as `sort` says; `search` looks at ids, names, files and inputs.
         */
        get: operations["list_runs_api_runs_get"];
        put?: never;
        /**
         * Start Run
         * @description Starts a run of a workflow file of the project; this server drives it.
         *
         *     403: the role `run` cannot give it more budget or iterations than the file does.
         *     201: it was started. 200: a run with this key exists already, and this is its id; if no
         *     process drives it any more, it is resumed. 409: the run with this key was started with other
         *     inputs, or is one of another workflow.
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
         * @description One run: its result so far, what it waits for, and the requests that it accepts.
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
         *     A loop that is still running is given more only with `seen`, so that a button that is pressed
         *     twice does not double it.
         */
        post: operations["continue_run_api_runs__run__continue_post"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/runs/{run}/diff": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show Diff
         * @description Two iterations of a loop side by side, of one run or of two.
         */
        get: operations["show_diff_api_runs__run__diff_get"];
        put?: never;
        post?: never;
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
         *     Events of the stream: an entry (its seq is the id), `delta` with streamed text, `status` when
         *     the run's status changes, `end` when it has ended. A `delta` has what is new, or with `whole`
         *     all of it so far. When a call has ended, its entry has the answer, and no more text follows.
         *     The stream stays open: the run may be continued. Many watchers get events less often.
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
    "/api/runs/{run}/facts": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Facts Of Run
         * @description What the conditions of a loop of a run saw in each iteration.
         */
        get: operations["facts_of_run_api_runs__run__facts_get"];
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
         * @description Lets open calls finish, and starts no new ones.
         */
        post: operations["pause_api_runs__run__pause_post"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/runs/{run}/records": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List Records
         * @description The records of steps, items and iterations: status, inputs, output, error, times, cost.
         */
        get: operations["list_records_api_runs__run__records_get"];
        put?: never;
        post?: never;
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
         * @description Resumes a run after a pause or a crash; of a failed run, retries what failed.
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
    "/api/runs/{run}/step": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show Step
         * @description What became of a step, and what it gave in the iteration before.
         */
        get: operations["show_step_api_runs__run__step_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/runs/{run}/stop": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Stop
         * @description Ends a loop after the running iteration, with what it returns then.
         */
        post: operations["stop_api_runs__run__stop_post"];
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
    "/api/runs/{run}/what-if": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * What If Of Run
         * @description What a rule would have done in a run; no call is made.
         */
        post: operations["what_if_of_run_api_runs__run__what_if_post"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/schedules": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List Schedules
         * @description The schedules, when each is due, and what happened the last times.
         */
        get: operations["list_schedules_api_schedules_get"];
        put?: never;
        /**
         * Add Schedule
         * @description Lets the clock start a workflow file of the project. 409: there is one of that name.
         */
        post: operations["add_schedule_api_schedules_post"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/schedules/{schedule}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Remove Schedule
         * @description Deletes it; its runs stay.
         */
        delete: operations["remove_schedule_api_schedules__schedule__delete"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/schedules/{schedule}/pause": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Pause Schedule
         * @description Pauses it: it starts nothing until it is resumed.
         */
        post: operations["pause_schedule_api_schedules__schedule__pause_post"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/schedules/{schedule}/resume": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Resume Schedule
         * @description Resumes it from now on; what was due in the pause is left out.
         */
        post: operations["resume_schedule_api_schedules__schedule__resume_post"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/schedules/{schedule}/run": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Run Schedule
         * @description Starts its workflow now, also if it is paused; its `overlap` counts.
         */
        post: operations["run_schedule_api_schedules__schedule__run_post"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/session": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Open Session
         * @description Opens a session of the page: the answer sets a cookie that no script can read.
         *
         *     The cookie counts like the token, for requests with the header `X-Whorl-Page`, which only the
         *     page of this very server can send from a browser. It ends with the browser, or with the token.
         */
        post: operations["open_session_api_session_post"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/templates": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List Templates
         * @description The templates for new workflow files.
         */
        get: operations["list_templates_api_templates_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/tries": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Start Try
         * @description Runs a step, or one iteration of a loop, from a draft; 409: it would do something outside.
         */
        post: operations["start_try_api_tries_post"];
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
         * @description Checks a file of the project, or a draft. Nothing is run and nothing is fetched.
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
         * @description The workflow files of the project, of any format.
         */
        get: operations["list_workflows_api_workflows_get"];
        put?: never;
        /**
         * New File
         * @description A new workflow file: from a template, a copy, a native copy, or empty.
         */
        post: operations["new_file_api_workflows_post"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/workflows/edit": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Edit
         * @description A text after operations; 422: an operation is refused. Nothing is saved.
         */
        post: operations["edit_api_workflows_edit_post"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/workflows/etag": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show Etag
         * @description Which version of a file is on the disk.
         */
        get: operations["show_etag_api_workflows_etag_get"];
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
         * @description A workflow file as nodes and edges; a program as a dry run requests them.
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
    "/api/workflows/names": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * List Names
         * @description The names that the texts of a step may read, for completion.
         */
        post: operations["list_names_api_workflows_names_post"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/workflows/sketch": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show Sketch
         * @description A workflow file as it is drawn to be edited, valid or not.
         */
        get: operations["show_sketch_api_workflows_sketch_get"];
        put?: never;
        /**
         * Sketch
         * @description The same for a text that is not saved.
         */
        post: operations["sketch_api_workflows_sketch_post"];
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
         * @description A workflow file with the files that it is made of; one with mistakes alone.
         */
        get: operations["show_file_source_api_workflows_source_get"];
        /**
         * Save
         * @description Saves a file; 409, with the current text, if the file has changed in the meantime.
         */
        put: operations["save_api_workflows_source_put"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/hooks/runs/{run}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Fetch Answer
         * @description The answer of a run; 202 until it exists.
         */
        get: operations["fetch_answer_hooks_runs__run__get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/hooks/runs/{run}/{at}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Take Call
         * @description Ends a task that waits for this call; what is sent is its result.
         */
        post: operations["take_call_hooks_runs__run___at__post"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/hooks/workflows/{workflow}/{trigger}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Call Trigger
         * @description Starts the runs of a trigger for a call, and answers the caller with the run's answer.
         */
        get: operations["call_trigger_hooks_workflows__workflow___trigger__get"];
        /**
         * Call Trigger
         * @description Starts the runs of a trigger for a call, and answers the caller with the run's answer.
         */
        put: operations["call_trigger_hooks_workflows__workflow___trigger__put"];
        /**
         * Call Trigger
         * @description Starts the runs of a trigger for a call, and answers the caller with the run's answer.
         */
        post: operations["call_trigger_hooks_workflows__workflow___trigger__post"];
        /**
         * Call Trigger
         * @description Starts the runs of a trigger for a call, and answers the caller with the run's answer.
         */
        delete: operations["call_trigger_hooks_workflows__workflow___trigger__delete"];
        options?: never;
        head?: never;
        /**
         * Call Trigger
         * @description Starts the runs of a trigger for a call, and answers the caller with the run's answer.
         */
        patch: operations["call_trigger_hooks_workflows__workflow___trigger__patch"];
        trace?: never;
    };
    "/hooks/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Take Webhook
         * @description Starts the workflow that a hook was made for (`whorl server hook add`); has its own secret.
         *
         *     The body has inputs by name, or is the main one. The same call is answered with the same run,
         *     however often it comes. 401: the signature is wrong or too old. 429: too many calls.
         */
        post: operations["take_webhook_hooks__name__post"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/metrics": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Metrics
         * @description Numbers about runs, calls, money and this server, in the text format of Prometheus.
         *
         *     Counters begin when the server starts; each server counts the runs that it drives.
         */
        get: operations["metrics_metrics_get"];
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
            /** At */
            at?: string | null;
            /** Iteration */
            iteration: number;
            /** Seen */
            seen?: number | null;
        };
        /**
         * Approval
         * @description A yes; `value` is what the person changed.
         */
        Approval: {
            /**
             * At
             * @description an `address` of `approvals`
             */
            at: string;
            /**
             * Feedback
             * @default
             */
            feedback: string;
            /** Seen */
            seen?: number | null;
            /**
             * Value
             * @description replaces what `show` of the question has; for a loop, the changed results by their names. Without this field nothing is edited.
             */
            value?: unknown;
        };
        /**
         * ApprovalItem
         * @description What a run asks a person.
         */
        ApprovalItem: {
            /** Address */
            address: string;
            /** Message */
            message: string;
            /**
             * Reason
             * @description what asks: gate, iteration, limit, ...
             */
            reason: string;
            /** Show */
            show: unknown;
            /** Waiting Since */
            waiting_since: number;
        };
        /**
         * AskedLimits
         * @description The limits of a loop, in the words of the native format.
         */
        AskedLimits: {
            /** Calls */
            calls?: number | null;
            /** Cost */
            cost?: number | null;
            /** Iterations */
            iterations?: number | null;
            /** Time */
            time?: string | null;
            /** Tokens */
            tokens?: number | null;
        };
        /**
         * AskedRule
         * @description Another rule for a loop, in the words of the native format; what is left out stays.
         */
        AskedRule: {
            /**
             * At
             * @default
             */
            at: string;
            /** At Most */
            at_most?: number | components["schemas"]["AskedLimits"] | null;
            /** Returns */
            returns?: string | null;
            /**
             * Until
             * @default
             */
            until: string;
            /**
             * Variant
             * @default
             */
            variant: string;
        };
        /**
         * AuditItem
         * @description What a user or client did.
         */
        AuditItem: {
            /** Action */
            action: string;
            /** At */
            at: number;
            /** File */
            file: string;
            /** Id */
            id: number;
            /**
             * Outcome
             * @description `ok`, or the status and the code of the refusal
             */
            outcome: string;
            /** Role */
            role: string;
            /** Run */
            run: string;
            /**
             * Who
             * @description the name of a token, `signed address`, or `command line USER`
             */
            who: string;
        };
        /**
         * AuditList
         * @description The rows; give `next` as `before` for more of them.
         */
        AuditList: {
            /** Audit */
            audit: components["schemas"]["AuditItem"][];
            /** Next */
            next?: number | null;
        };
        /**
         * BestItem
         * @description The variant with the highest grade; `words` says whether that is seen to be better.
         */
        BestItem: {
            /** @description difference to the baseline, which has null */
            difference: components["schemas"]["Span"] | null;
            grade: components["schemas"]["Span"];
            /** Variant */
            variant: string;
            /** Words */
            words: string;
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
         * CaseCell
         * @description A case under a variant: means over its trials.
         */
        CaseCell: {
            /** Cost Usd */
            cost_usd: number | null;
            /**
             * Difference
             * @description difference to the baseline
             */
            difference: number | null;
            /** Grade */
            grade: number | null;
            /** Iterations */
            iterations: number;
            /** Solved */
            solved: number;
            /** Trials */
            trials: components["schemas"]["TrialItem"][];
        };
        /**
         * CaseItem
         * @description A case; `spread` is its largest difference to the baseline.
         */
        CaseItem: {
            /** Case */
            case: string;
            /**
             * Cells
             * @description by variant
             */
            cells: {
                [key: string]: components["schemas"]["CaseCell"];
            };
            /** Group */
            group: string;
            /** Spread */
            spread: number;
        };
        /**
         * CaseList
         * @description A row for each case, the largest differences first.
         */
        CaseList: {
            /** Baseline */
            baseline: string;
            /** Cases */
            cases: components["schemas"]["CaseItem"][];
            /** Grader */
            grader: string;
            /** Variants */
            variants: string[];
        };
        /**
         * Continue
         * @description Reopens a loop for more iterations, or every loop that stopped for its budget.
         *
         *     At least one of the amounts is needed.
         */
        Continue: {
            /** At */
            at?: string | null;
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
            /** Seen */
            seen?: number | null;
            /**
             * Tokens
             * @description added to the budget
             */
            tokens?: number | null;
        };
        /**
         * CostLine
         * @description What was used under one heading.
         */
        CostLine: {
            /**
             * Calls
             * @default 0
             */
            calls: number;
            /**
             * Cost Usd
             * @description null: no price is known
             * @default 0
             */
            cost_usd: number | null;
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
             * Model Calls
             * @description calls of models and agents
             */
            model_calls?: number | null;
            /** Name */
            name: string;
            /**
             * Output Tokens
             * @default 0
             */
            output_tokens: number;
            /**
             * Reserved Usd
             * @description reserved for calls in doubt
             */
            reserved_usd?: number | null;
            /**
             * Unpriced Calls
             * @default 0
             */
            unpriced_calls: number;
        };
        /**
         * CostList
         * @description What runs used, under headings, the most expensive first; days in their order.
         */
        CostList: {
            /** By */
            by: string;
            /** Lines */
            lines: components["schemas"]["CostLine"][];
            /**
             * More
             * @description whether older runs were not looked into
             */
            more: boolean;
            /**
             * Runs
             * @description how many runs were charged with anything
             */
            runs: number;
            total: components["schemas"]["CostLine"];
        };
        /**
         * Current
         * @description The current text of a file that is not the expected version.
         */
        Current: {
            /** Etag */
            etag: string | null;
            /** Text */
            text: string;
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
             * At
             * @description an `address` of `approvals`
             */
            at: string;
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
            /**
             * Node
             * @description the path of the step that it is about
             */
            node?: string | null;
            /** Severity */
            severity: string;
        };
        /**
         * Diff
         * @description Two iterations of a loop side by side, of one run or of two.
         */
        Diff: {
            /**
             * Feedback
             * @description the values carried into the second
             */
            feedback: {
                [key: string]: unknown;
            };
            /** Loop */
            loop: string;
            one: components["schemas"]["Side"];
            other: components["schemas"]["Side"];
            /** Steps */
            steps: components["schemas"]["StepDiff"][];
        };
        /**
         * Edit
         * @description Operations on a text, in this order, all or none.
         */
        Edit: {
            /** Name */
            name: string;
            /** Operations */
            operations: {
                [key: string]: unknown;
            }[];
            /**
             * Others
             * @description files beside it that are not saved either
             */
            others?: {
                [key: string]: string;
            };
            /**
             * Readers
             * @default rewire
             * @enum {string}
             */
            readers: "rewire" | "leave";
            /** Text */
            text: string;
            /**
             * Validate
             * @description whether it is validated
             * @default true
             */
            validate: boolean;
        };
        /**
         * Edited
         * @description A text after operations. Nothing is saved.
         */
        Edited: {
            /** Diagnostics */
            diagnostics?: components["schemas"]["Diagnostic"][] | null;
            /** Others */
            others: {
                [key: string]: {
                    [key: string]: string | null;
                };
            };
            /** Patches */
            patches: components["schemas"]["Patch"][];
            /** Rewired */
            rewired: components["schemas"]["Rewired"][];
            /** Select */
            select: string[];
            /** Sketch */
            sketch: {
                [key: string]: unknown;
            };
            /** Text */
            text: string;
        };
        /**
         * ErrorAnswer
         * @description The answer to every request that was not carried out.
         */
        ErrorAnswer: {
            /** @description the file, if it has changed */
            current?: components["schemas"]["Current"] | null;
            error: components["schemas"]["Fault"];
        };
        /**
         * Etag
         * @description Identifies a version of a file.
         */
        Etag: {
            /** Etag */
            etag: string;
        };
        /**
         * EventPage
         * @description A part of a journal.
         */
        EventPage: {
            /** Events */
            events: components["schemas"]["JournalEvent"][];
            /**
             * Last Seq
             * @description the last entry that this page covers; give it as `after`
             */
            last_seq: number;
            /** More */
            more: boolean;
        };
        /**
         * ExperimentDetail
         * @description An experiment with everything that its page shows first.
         */
        ExperimentDetail: {
            /** Baseline */
            baseline: string;
            /** @description if the experiment is done */
            best?: components["schemas"]["BestItem"] | null;
            /** Budget Usd */
            budget_usd?: number | null;
            /**
             * Cases
             * @default 0
             */
            cases: number;
            /**
             * Done
             * @default 0
             */
            done: number;
            /**
             * Expected Usd
             * @description in total, at the rate so far
             */
            expected_usd?: number | null;
            /** Explore */
            explore: {
                [key: string]: number;
            };
            /** File */
            file?: string | null;
            /** Generation */
            generation: number;
            /**
             * Graded
             * @description gradings that have ended
             */
            graded: number;
            /**
             * Graders
             * @description the first one is the main one
             */
            graders: components["schemas"]["GraderItem"][];
            /**
             * Loops
             * @description of the baseline; those that are explored first
             */
            loops: string[];
            /** Margin */
            margin: number;
            /** Name */
            name: string;
            /**
             * People
             * @description gradings that wait for a person
             */
            people: number;
            /** Progress */
            progress: components["schemas"]["VariantItem"][];
            /**
             * Reason
             * @description why it has failed
             * @default
             */
            reason: string;
            /** Repeat */
            repeat: number;
            /**
             * Running
             * @description running runs
             * @default 0
             */
            running: number;
            /** Runs */
            runs: number;
            /**
             * Spent Usd
             * @description null if no call had a known price
             */
            spent_usd: number | null;
            /**
             * State
             * @description new, running, paused (by its budget), stopped, failed, open (trials are missing, and it is not running) or done
             */
            state: string;
            /**
             * Trials
             * @default 0
             */
            trials: number;
            /**
             * Trouble
             * @description why its file cannot be used
             * @default
             */
            trouble: string;
            /** Updated At */
            updated_at?: number | null;
            /**
             * Variants
             * @description the baseline first
             */
            variants?: string[];
            /**
             * Whole Cases
             * @description cases that all variants have
             */
            whole_cases: number;
        };
        /**
         * ExperimentItem
         * @description An experiment of the project; without a file, only runs are left of it.
         */
        ExperimentItem: {
            /** @description if the experiment is done */
            best?: components["schemas"]["BestItem"] | null;
            /** Budget Usd */
            budget_usd?: number | null;
            /**
             * Cases
             * @default 0
             */
            cases: number;
            /**
             * Done
             * @default 0
             */
            done: number;
            /**
             * Expected Usd
             * @description in total, at the rate so far
             */
            expected_usd?: number | null;
            /** File */
            file?: string | null;
            /** Name */
            name: string;
            /**
             * Reason
             * @description why it has failed
             * @default
             */
            reason: string;
            /**
             * Running
             * @description running runs
             * @default 0
             */
            running: number;
            /** Runs */
            runs: number;
            /**
             * Spent Usd
             * @description null if no call had a known price
             */
            spent_usd: number | null;
            /**
             * State
             * @description new, running, paused (by its budget), stopped, failed, open (trials are missing, and it is not running) or done
             */
            state: string;
            /**
             * Trials
             * @default 0
             */
            trials: number;
            /**
             * Trouble
             * @description why its file cannot be used
             * @default
             */
            trouble: string;
            /** Updated At */
            updated_at?: number | null;
            /**
             * Variants
             * @description the baseline first
             */
            variants?: string[];
        };
        /**
         * Fault
         * @description What went wrong, and what to do.
         */
        Fault: {
            /**
             * Code
             * @description a stable code; `whorl help CODE` says more
             */
            code: string;
            /** Column */
            column?: number | null;
            /**
             * Diagnostics
             * @description all mistakes in a file
             */
            diagnostics?: components["schemas"]["Diagnostic"][] | null;
            /**
             * File
             * @description if an operation is refused: where
             */
            file?: string | null;
            /**
             * Help
             * @default
             */
            help: string;
            /** Line */
            line?: number | null;
            /** Message */
            message: string;
            /**
             * Operation
             * @description the index of the operation, from 0
             */
            operation?: number | null;
        };
        /**
         * FiringItem
         * @description A time at which a schedule was due, and what happened then.
         */
        FiringItem: {
            /** Due */
            due: number;
            /** Reason */
            reason: string;
            /** Run */
            run: string;
            /**
             * State
             * @enum {string}
             */
            state: "asked" | "waiting" | "started" | "skipped" | "failed";
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
             * @default {}
             */
            set: {
                [key: string]: unknown;
            };
            /**
             * Steps
             * @description changes by the path or name of a step
             * @default {}
             */
            steps: {
                [key: string]: components["schemas"]["StepChange"];
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
         * Found
         * @description What was found, in the shape that the command prints with --json.
         */
        Found: {
            /** Document */
            document: unknown;
        };
        /**
         * GraderItem
         * @description A grader; `person`, `judge`, `ask`, `use` and `run` grade by runs of their own.
         */
        GraderItem: {
            /** Kind */
            kind: string;
            /** Name */
            name: string;
        };
        /**
         * GradingItem
         * @description A result that waits for a person's grade; which variant made it is not shown.
         */
        GradingItem: {
            /**
             * Address
             * @description the question, for approve and reject of the run
             */
            address: string;
            /** Grader */
            grader: string;
            /** Message */
            message: string;
            /** Run */
            run: string;
            /** Show */
            show?: unknown;
        };
        /**
         * GradingList
         * @description What waits for a person, in random order.
         */
        GradingList: {
            /** Gradings */
            gradings: components["schemas"]["GradingItem"][];
        };
        /**
         * Graph
         * @description A workflow as a picture; workflows that it calls are inside the steps that call them.
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
             * @description each node after its parent
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
             * @description inside of a branch: its case
             */
            case: string | null;
            /** Detail */
            detail: string;
            /**
             * Kind
             * @enum {string}
             */
            kind: "loop" | "foreach" | "branch" | "group" | "call" | "task" | "compute" | "assign" | "wait" | "gate" | "stop" | "break" | "continue" | "program";
            loop: components["schemas"]["GraphLoop"] | null;
            /** Model */
            model: string | null;
            /** Name */
            name: string;
            /**
             * Parent
             * @description the path of the step around it; empty at the top
             */
            parent: string;
            /** Path */
            path: string;
            /** @description of a loop that is drawn with ports */
            ports?: components["schemas"]["GraphPorts"] | null;
            /**
             * Settings
             * @description its prompt, as written
             */
            settings?: {
                [key: string]: string;
            };
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
         * GraphPorts
         * @description The ports of a step, as its file names them.
         */
        GraphPorts: {
            /** Inputs */
            inputs: string[];
            /** Outputs */
            outputs: string[];
        };
        /**
         * Hooked
         * @description What a webhook has started.
         */
        Hooked: {
            /**
             * Run
             * @description null if the call starts nothing, such as a ping
             */
            run: string | null;
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
         * Iteration
         * @description An iteration of a run.
         */
        Iteration: {
            /**
             * At
             * @description its loop, such as `polish`
             */
            at: string;
            /** Iteration */
            iteration: number;
            /** Run */
            run: string;
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
            /**
             * Explored
             * @description the last iteration past its end; 0: it was not explored
             */
            explored: number;
            /** Failed Iterations */
            failed_iterations: number[];
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
            /** Mark */
            mark: ("limit" | "budget") | null;
            /** Path */
            path: string;
            /** Returned Iteration */
            returned_iteration: number | null;
            /** Score */
            score: number | null;
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
         * @description Which step changed in which iteration.
         */
        Matrix: {
            /** Iterations */
            iterations: components["schemas"]["MatrixRow"][];
            /** Loop */
            loop: string;
            /** Steps */
            steps: string[];
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
         * Name
         * @description What the texts of a step may read, spelled as it is written there.
         */
        Name: {
            /** Name */
            name: string;
            /**
             * Readers
             * @description who reads it already
             */
            readers: components["schemas"]["Rewired"][];
            /**
             * Step
             * @description the path of the step that gives it; empty: no step does
             */
            step: string;
            /**
             * Type
             * @description text, number, boolean, object, list or any, where it is known
             */
            type: string;
        };
        /**
         * NameList
         * @description The names in scope at a step, those nearest to it first.
         */
        NameList: {
            /** Names */
            names: components["schemas"]["Name"][];
        };
        /**
         * NewExperiment
         * @description An experiment file of the project to run or to continue.
         */
        NewExperiment: {
            /**
             * Budget Usd
             * @description instead of the file's
             */
            budget_usd?: number | null;
            /** File */
            file: string;
            /**
             * Fresh
             * @description run everything again, also what is done
             * @default false
             */
            fresh: boolean;
        };
        /**
         * NewFile
         * @description A new file, made from exactly one of the four sources.
         */
        NewFile: {
            /** Convert */
            convert?: string | null;
            /** Copy Of */
            copy_of?: string | null;
            /**
             * Empty
             * @description the format of an empty file
             */
            empty?: string | null;
            /** File */
            file: string;
            /** Template */
            template?: string | null;
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
            /**
             * Labels
             * @description names and values that lists find it by
             * @default {}
             */
            labels: {
                [key: string]: string;
            };
            /** Max Iterations */
            max_iterations?: number | null;
            /**
             * Named
             * @description which workflow, if the file has several
             * @default
             */
            named: string;
            /** Workflow */
            workflow: string;
        };
        /**
         * NewScheduleItem
         * @description A schedule to be made: by `cron` in the time zone `zone`, or by the interval `every`.
         */
        NewScheduleItem: {
            /**
             * Backfill
             * @default false
             */
            backfill: boolean;
            /**
             * Budget Usd
             * @description of each run
             */
            budget_usd?: number | null;
            /** Cron */
            cron?: string | null;
            /** Every */
            every?: string | null;
            /** Inputs */
            inputs?: {
                [key: string]: unknown;
            };
            /** Name */
            name?: string | null;
            /**
             * Named
             * @description which workflow, if the file has several
             * @default
             */
            named: string;
            /**
             * Overlap
             * @default skip
             * @enum {string}
             */
            overlap: "skip" | "queue" | "parallel";
            /** Workflow */
            workflow: string;
            /** Zone */
            zone?: string | null;
        };
        /**
         * NewSession
         * @description A session of the page; it has no fields.
         */
        NewSession: Record<string, never>;
        /**
         * Nothing
         * @description An object without fields.
         */
        Nothing: Record<string, never>;
        /**
         * Palette
         * @description The kinds of steps that can be added.
         */
        Palette: {
            /** Groups */
            groups: {
                [key: string]: unknown;
            }[];
        };
        /**
         * Patch
         * @description What is replaced; offsets count UTF-16 units of the text that was sent.
         */
        Patch: {
            /** End */
            end: number;
            /** Start */
            start: number;
            /** Text */
            text: string;
        };
        /**
         * Pin
         * @description A result that tries use instead of a step; a stale one is not used.
         */
        Pin: {
            /**
             * Stale
             * @default false
             */
            stale: boolean;
            /** Value */
            value: unknown;
        };
        /**
         * PinList
         * @description The pins of a file, by path.
         */
        PinList: {
            /** File */
            file: string;
            /** Pins */
            pins: {
                [key: string]: components["schemas"]["Pin"];
            };
        };
        /**
         * Pinned
         * @description Pins to be kept; `text` is the draft, if the file does not have the steps yet.
         */
        Pinned: {
            /** File */
            file: string;
            /**
             * Others
             * @description files beside it that are not saved either
             */
            others?: {
                [key: string]: string;
            };
            /** Pins */
            pins: {
                [key: string]: components["schemas"]["Pin"];
            };
            /** Text */
            text?: string | null;
        };
        /**
         * Place
         * @description A step of a text that need not be saved.
         */
        Place: {
            /**
             * At
             * @description its path; empty: the workflow
             * @default
             */
            at: string;
            /** Name */
            name: string;
            /**
             * Others
             * @description files beside it that are not saved either
             */
            others?: {
                [key: string]: string;
            };
            /** Text */
            text: string;
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
            /**
             * Edit
             * @description whether this server saves files
             * @default false
             */
            edit: boolean;
            /**
             * May
             * @description the operations that this token may use here
             * @default []
             */
            may: string[];
            /** Name */
            name: string;
            provider: components["schemas"]["ProviderItem"];
            /**
             * Role
             * @description each role includes those before it
             * @default admin
             * @enum {string}
             */
            role: "read" | "run" | "steer" | "admin";
            /** Root */
            root: string;
            /** Version */
            version: string;
            /**
             * Who
             * @description the name of the token that asks
             * @default
             */
            who: string;
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
         * RecordAttempt
         * @description One time that a task was tried.
         */
        RecordAttempt: {
            /** Address */
            address: string;
            /** Ended At */
            ended_at: number;
            /** Error */
            error: unknown;
            /** Status */
            status: string;
        };
        /**
         * RecordItem
         * @description The outcome of a step, an item or an iteration.
         *
         *     A large value in `inputs` or `output` is `{"$ref", "size", "preview"}`.
         */
        RecordItem: {
            /** Address */
            address: string;
            /** Attempts */
            attempts: components["schemas"]["RecordAttempt"][];
            /**
             * Because
             * @description the facts for this reason
             */
            because: {
                [key: string]: unknown;
            };
            /**
             * Branch
             * @description the case that a branch took
             */
            branch: string | null;
            /** Ended At */
            ended_at: number | null;
            /** Error */
            error: unknown;
            /**
             * Inputs
             * @description what it was given, or the names that it reads
             */
            inputs: unknown;
            /**
             * Kind
             * @description the kind of a task, or another kind such as `item`
             */
            kind: string;
            /** Name */
            name: string;
            /**
             * Number
             * @description of an item or iteration
             */
            number: number | null;
            /** Output */
            output: unknown;
            /**
             * Path
             * @description of the step in its file; `KEY:path` in a called workflow
             */
            path: string;
            /**
             * Reason
             * @description why it was skipped, or `tolerated` for a failure
             */
            reason: string | null;
            /**
             * Repetitions
             * @description how many items or iterations have begun
             */
            repetitions: number | null;
            /** Seconds */
            seconds: number | null;
            /** Started At */
            started_at: number | null;
            /**
             * Status
             * @enum {string}
             */
            status: "running" | "waiting" | "succeeded" | "failed" | "timed_out" | "cancelled" | "skipped";
            /** @description includes the steps inside */
            usage: components["schemas"]["UsageItem"];
            /**
             * Why
             * @description why it was skipped, in words
             */
            why: string;
        };
        /**
         * RecordList
         * @description Records, in the order in which their steps began.
         */
        RecordList: {
            /** More */
            more: boolean;
            /** Records */
            records: components["schemas"]["RecordItem"][];
        };
        /**
         * Request
         * @description The fields that all requests to a run have.
         *
         *     `seen` is the last seq that the caller knows: the request is refused if another client has
         *     steered the run since, so a button that is pressed twice has one effect.
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
            mark?: ("limit" | "budget" | "warning") | null;
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
         * @description Resumes a run after a pause or a crash; of a failed run, retries what failed.
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
         * Rewired
         * @description A place that reads a step and was changed with it, or was left as it is on request.
         */
        Rewired: {
            /** Field */
            field: string;
            /** Line */
            line: number;
            /** Path */
            path: string;
        };
        /**
         * RunDetail
         * @description Everything that the page of a run shows first.
         */
        RunDetail: {
            /** Approvals */
            approvals: components["schemas"]["ApprovalItem"][];
            /** Budget Usd */
            budget_usd: number | null;
            /** Calls */
            calls: number;
            /**
             * Can
             * @description the requests that it accepts from this token now
             */
            can: ("pause" | "resume" | "cancel" | "stop" | "continue" | "accept" | "fork" | "approve" | "reject")[];
            /**
             * Changed File
             * @description a file that changed since the run began
             */
            changed_file: string | null;
            /**
             * Cost Usd
             * @description null: no price is known
             */
            cost_usd: number | null;
            /** Created At */
            created_at: number;
            /**
             * Defaults
             * @description the inputs that it was not given
             */
            defaults: {
                [key: string]: unknown;
            };
            /** Dialect */
            dialect: string;
            /**
             * Driver
             * @description which process drives it
             * @enum {string}
             */
            driver: "here" | "elsewhere" | "nobody";
            /**
             * Due
             * @description when a waiting run resumes by itself
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
             * @description relative to the project, if it is inside
             */
            file: string;
            /** Forks */
            forks: string[];
            /**
             * Given
             * @description its inputs in a line
             */
            given: string;
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
            /** Labels */
            labels: {
                [key: string]: string;
            };
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
             * @description what fell short in a success
             */
            mark: ("limit" | "budget" | "warning") | null;
            /** Name */
            name: string;
            /**
             * Origin
             * @description server, detached, terminal or python
             */
            origin: string | null;
            /**
             * Parent
             * @description the run that this one is a fork of
             */
            parent: string | null;
            /**
             * Position
             * @description its place in the queue of its workflow
             */
            position?: number | null;
            /**
             * Project
             * @description set if it belongs to another project
             */
            project?: string | null;
            /**
             * Reserved Usd
             * @description of the cost, what was reserved for calls in doubt
             */
            reserved_usd: number;
            result: components["schemas"]["Result"];
            /** Score */
            score: number | null;
            /**
             * Scores
             * @description of the newest 20 iterations of that loop
             */
            scores: (number | null)[];
            /**
             * Seconds
             * @description how long it has worked, without pauses; 0: unknown
             */
            seconds: number;
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
            /**
             * Unpriced Calls
             * @description so many calls are not in the cost
             */
            unpriced_calls: number;
            /** Updated At */
            updated_at: number;
            /** @description set if no server drives the run yet */
            waiting_for: components["schemas"]["WaitingFor"] | null;
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
            /**
             * Cost Usd
             * @description null: no price is known
             */
            cost_usd: number | null;
            /** Created At */
            created_at: number;
            /** Dialect */
            dialect: string;
            /**
             * Due
             * @description when a waiting run resumes by itself
             */
            due: number | null;
            /** Error */
            error: string | null;
            /** Exit Reason */
            exit_reason: string | null;
            /**
             * File
             * @description relative to the project, if it is inside
             */
            file: string;
            /**
             * Given
             * @description its inputs in a line
             */
            given: string;
            /** Id */
            id: string;
            /** In Doubt */
            in_doubt: number;
            /** Iteration */
            iteration: number;
            /** Iterations Max */
            iterations_max: number;
            /** Labels */
            labels: {
                [key: string]: string;
            };
            /** Last Seq */
            last_seq: number;
            /**
             * Loop
             * @description address of the outermost loop that runs, or ran last
             */
            loop: string | null;
            /**
             * Mark
             * @description what fell short in a success
             */
            mark: ("limit" | "budget" | "warning") | null;
            /** Name */
            name: string;
            /**
             * Origin
             * @description server, detached, terminal or python
             */
            origin: string | null;
            /**
             * Parent
             * @description the run that this one is a fork of
             */
            parent: string | null;
            /**
             * Position
             * @description its place in the queue of its workflow
             */
            position?: number | null;
            /**
             * Project
             * @description set if it belongs to another project
             */
            project?: string | null;
            /**
             * Reserved Usd
             * @description of the cost, what was reserved for calls in doubt
             */
            reserved_usd: number;
            /** Score */
            score: number | null;
            /**
             * Scores
             * @description of the newest 20 iterations of that loop
             */
            scores: (number | null)[];
            /**
             * Seconds
             * @description how long it has worked, without pauses; 0: unknown
             */
            seconds: number;
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
            /**
             * Unpriced Calls
             * @description so many calls are not in the cost
             */
            unpriced_calls: number;
            /** Updated At */
            updated_at: number;
            /** @description set if no server drives the run yet */
            waiting_for: components["schemas"]["WaitingFor"] | null;
        };
        /**
         * RunList
         * @description A page of the list.
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
             * Total
             * @description how many runs match; null: too many to count
             */
            total: number | null;
            /**
             * Workflows
             * @description the names of all workflows that have runs
             */
            workflows: string[];
        };
        /**
         * Saved
         * @description A file was saved; it may have mistakes.
         */
        Saved: {
            /** Diagnostics */
            diagnostics: components["schemas"]["Diagnostic"][];
            /** Etag */
            etag: string;
            /** File */
            file: string;
        };
        /**
         * Saving
         * @description A text to be saved; `etag` is that of the version that it was made from.
         */
        Saving: {
            /**
             * Etag
             * @description null: the file must not exist
             */
            etag: string | null;
            /** File */
            file: string;
            /**
             * Others
             * @description new files beside it, saved before it
             */
            others?: {
                [key: string]: string;
            };
            /** Text */
            text: string;
        };
        /**
         * ScheduleItem
         * @description A schedule; `trouble` says why it cannot start anything.
         */
        ScheduleItem: {
            /** Backfill */
            backfill: boolean;
            /** Budget Usd */
            budget_usd: number | null;
            /** File */
            file: string;
            /**
             * Firings
             * @description the newest first
             */
            firings: components["schemas"]["FiringItem"][];
            /** Inputs */
            inputs: {
                [key: string]: unknown;
            };
            /** Name */
            name: string;
            /** Named */
            named: string;
            /** Next */
            next: number | null;
            /** Overlap */
            overlap: string;
            /** Paused */
            paused: boolean;
            /** Trouble */
            trouble: string;
            /** When */
            when: string;
        };
        /**
         * ScheduleList
         * @description All schedules of the store.
         */
        ScheduleList: {
            /** Schedules */
            schedules: components["schemas"]["ScheduleItem"][];
        };
        /**
         * Side
         * @description One of two iterations that are compared.
         */
        Side: {
            /**
             * Cost Usd
             * @description null: no price is known
             */
            cost_usd: number | null;
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
         * Sketched
         * @description The picture of a text, if it can be read; diagnostics only on request.
         */
        Sketched: {
            /** Diagnostics */
            diagnostics: components["schemas"]["Diagnostic"][] | null;
            /** Dialect */
            dialect: string;
            /** Etag */
            etag: string | null;
            /** File */
            file: string;
            /** Sketch */
            sketch: {
                [key: string]: unknown;
            } | null;
            /** Text */
            text: string;
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
         * Span
         * @description A number with its interval of 95 %; without one, there are too few cases for it.
         */
        Span: {
            /** High */
            high?: number | null;
            /** Low */
            low?: number | null;
            /** Value */
            value: number | null;
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
             * @description who answers, if it is not a real model
             * @default
             */
            note: string;
            /** Run */
            run: string;
            /**
             * Runs
             * @description all runs, if a trigger starts several
             * @default []
             */
            runs: string[];
            /**
             * Status
             * @description of the run, as lists show it
             * @default running
             */
            status: string;
        };
        /**
         * StepChange
         * @description The changes of a step that asks a model.
         */
        StepChange: {
            /** Model */
            model?: string | null;
            /** Prompt */
            prompt?: string | null;
        };
        /**
         * StepDetail
         * @description What became of one step.
         */
        StepDetail: {
            previous: components["schemas"]["Previous"] | null;
            /** @description its record of the last time that it ran */
            record: components["schemas"]["RecordItem"];
        };
        /**
         * StepDiff
         * @description How much the result of a step differs between two iterations.
         */
        StepDiff: {
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
         * StepTrial
         * @description The run of a try, and the paths of pins that do not count, since their steps changed.
         */
        StepTrial: {
            /** Run */
            run: string;
            /** Stale */
            stale: string[];
        };
        /**
         * Stop
         * @description Lets no iteration of a loop begin after the running one.
         */
        Stop: {
            /** At */
            at?: string | null;
            /** Seen */
            seen?: number | null;
        };
        /**
         * TemplateItem
         * @description A workflow to begin with.
         */
        TemplateItem: {
            /** Description */
            description: string;
            /** Dialects */
            dialects: string[];
            /** Name */
            name: string;
            /**
             * Needs
             * @default
             */
            needs: string;
        };
        /**
         * TemplateList
         * @description What a new file can be made from.
         */
        TemplateList: {
            /**
             * Empty
             * @description the formats that have an empty file
             */
            empty: string[];
            /** Templates */
            templates: components["schemas"]["TemplateItem"][];
        };
        /**
         * TrialItem
         * @description One run of a case under a variant.
         */
        TrialItem: {
            /**
             * Cost Usd
             * @description null: a model has no price
             */
            cost_usd: number | null;
            /** Error */
            error: string;
            /** Grades */
            grades: {
                [key: string]: number | null;
            };
            /** Iterations */
            iterations: number;
            /** Returned */
            returned: number | null;
            /** Run */
            run: string;
            /** Solved */
            solved: boolean | null;
            /** Status */
            status: string;
        };
        /**
         * TriggerItem
         * @description What starts a workflow, other than a person.
         */
        TriggerItem: {
            /**
             * Kind
             * @description request, recurrence, poll, callback or other
             */
            kind: string;
            /** Name */
            name: string;
            /**
             * Url
             * @description anyone who has this address may start the workflow
             */
            url: string;
        };
        /**
         * Try
         * @description A step of a text that is run alone, or a loop whose body is run once.
         */
        Try: {
            /**
             * At
             * @description its path
             */
            at: string;
            /**
             * Budget Usd
             * @description default 0.25
             */
            budget_usd?: number | null;
            /**
             * Effects
             * @description whether it may run commands, call and write
             * @default false
             */
            effects: boolean;
            /** @description gives the values that are not given here */
            from?: components["schemas"]["Iteration"] | null;
            /** Inputs */
            inputs?: {
                [key: string]: unknown;
            };
            /** Name */
            name: string;
            /**
             * Others
             * @description files beside it that are not saved either
             */
            others?: {
                [key: string]: string;
            };
            /**
             * Pins
             * @description whether pinned steps are left out
             * @default true
             */
            pins: boolean;
            /** Text */
            text: string;
            /**
             * Values
             * @description results instead of steps, by path; values of an iteration, by LOOP/NAME
             */
            values?: {
                [key: string]: unknown;
            };
        };
        /**
         * Unsaved
         * @description A text that need not be saved; `name` is the file that it would be in.
         */
        Unsaved: {
            /** Name */
            name: string;
            /**
             * Others
             * @description files beside it that are not saved either
             */
            others?: {
                [key: string]: string;
            };
            /** Text */
            text: string;
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
             * @description null: no price is known
             * @default 0
             */
            cost_usd: number | null;
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
             * Model Calls
             * @description calls of models and agents
             */
            model_calls?: number | null;
            /**
             * Output Tokens
             * @default 0
             */
            output_tokens: number;
            /**
             * Reserved Usd
             * @description reserved for calls in doubt
             */
            reserved_usd?: number | null;
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
            /**
             * Named
             * @description which workflow, if the file has several
             * @default
             */
            named: string;
            /** Text */
            text?: string | null;
            /** Workflow */
            workflow?: string | null;
        };
        /**
         * VariantItem
         * @description How far a variant is.
         */
        VariantItem: {
            /** Done */
            done: number;
            /** Name */
            name: string;
            /** Trials */
            trials: number;
        };
        /**
         * Verdict
         * @description The result of one condition at the end of an iteration.
         */
        Verdict: {
            /** By */
            by: string;
            /**
             * Evidence
             * @description the words of the text that a judge quotes for that
             */
            evidence: string;
            /** Facts */
            facts: {
                [key: string]: unknown;
            };
            /** Met */
            met: boolean | null;
            /**
             * Reason
             * @description why a judge decided so, in its own words; empty: unknown
             */
            reason: string;
            /** Words */
            words: string;
        };
        /**
         * WaitingFor
         * @description What a run waits behind, such as its turn or a permission.
         */
        WaitingFor: {
            /** Reason */
            reason: string;
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
             * Named
             * @description which workflow, if the file has several
             * @default
             */
            named: string;
            /**
             * Open Inputs
             * @description whether it takes inputs that it does not declare
             */
            open_inputs: boolean;
            trigger?: components["schemas"]["TriggerItem"] | null;
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
         * @description What a run may do and cost; null if it depends on a value, or no price is known.
         */
        WorstCase: {
            /**
             * Bound Usd
             * @description the most, if there is a limit
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
        /** @description the request is not valid */
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
        /** @description the role is too low, another site asks, or the folder or its store is not trusted */
        Error403: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["ErrorAnswer"];
            };
        };
        /** @description it does not exist */
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
        /** @description it does not fit the current state of the run */
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
        /** @description the body is not JSON */
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
        /** @description the store cannot be used, the server is stopping, or the answer takes too long */
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
    list_audit_api_audit_get: {
        parameters: {
            query?: {
                since?: number;
                who?: string;
                run?: string;
                /** @description only rows with smaller ids */
                before?: number;
                limit?: number;
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
                    "application/json": components["schemas"]["AuditList"];
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
    show_costs_api_costs_get: {
        parameters: {
            query?: {
                by?: "model" | "step" | "loop" | "iteration" | "workflow" | "run" | "day";
                /** @description only calls since the start of its hour */
                since?: number;
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
                    "application/json": components["schemas"]["CostList"];
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
    list_experiments_api_experiments_get: {
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
                    "application/json": components["schemas"]["ExperimentItem"][];
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
    run_experiment_api_experiments_post: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewExperiment"];
            };
        };
        responses: {
            /** @description Successful Response */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ExperimentDetail"];
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
    show_experiment_api_experiments__name__get: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
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
                    "application/json": components["schemas"]["ExperimentDetail"];
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
    list_cases_api_experiments__name__cases_get: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
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
                    "application/json": components["schemas"]["CaseList"];
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
    experiment_events_api_experiments__name__events_get: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
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
    list_facts_api_experiments__name__facts_get: {
        parameters: {
            query?: {
                at?: string;
                variant?: string;
            };
            header?: never;
            path: {
                name: string;
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
                    "application/json": components["schemas"]["Found"];
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
    show_judge_api_experiments__name__judge_get: {
        parameters: {
            query: {
                against: string;
                of?: string;
                variant?: string;
            };
            header?: never;
            path: {
                name: string;
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
                    "application/json": components["schemas"]["Found"];
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
    list_gradings_api_experiments__name__queue_get: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
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
                    "application/json": components["schemas"]["GradingList"];
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
    report_api_experiments__name__report_get: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
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
                    "application/json": components["schemas"]["Found"];
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
    stop_experiment_api_experiments__name__stop_post: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Nothing"];
            };
        };
        responses: {
            /** @description Successful Response */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ExperimentDetail"];
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
    what_if_api_experiments__name__what_if_post: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AskedRule"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Found"];
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
    show_palette_api_palette_get: {
        parameters: {
            query: {
                dialect: string;
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
                    "application/json": components["schemas"]["Palette"];
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
    list_pins_api_pins_get: {
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
                    "application/json": components["schemas"]["PinList"];
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
    save_pins_api_pins_put: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Pinned"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PinList"];
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
                /** @description it began then or later */
                since?: number | null;
                /** @description it began before then */
                until?: number | null;
                cost_min?: number | null;
                /** @description newest or largest first */
                sort?: "started" | "updated" | "cost" | "tokens" | "calls" | "score" | "time";
                reverse?: boolean;
                /** @description whether tries are listed, too */
                tries?: boolean;
                /** @description NAME=VALUE; runs of experiments are listed, too */
                label?: string | null;
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
                "application/json": components["schemas"]["Approval"];
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
    show_diff_api_runs__run__diff_get: {
        parameters: {
            query: {
                one: number;
                other: number;
                /** @description default: the only outermost loop */
                at?: string;
                /** @description the run of the second iteration, if it is another run */
                with?: string | null;
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
                    "application/json": components["schemas"]["Diff"];
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
    facts_of_run_api_runs__run__facts_get: {
        parameters: {
            query?: {
                at?: string;
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
                    "application/json": components["schemas"]["Found"];
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
                /** @description default: the only outermost loop */
                at?: string;
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
                /** @description default: the only outermost loop */
                at?: string;
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
                /** @description default: the only outermost loop */
                at?: string;
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
    list_records_api_runs__run__records_get: {
        parameters: {
            query?: {
                at?: string;
                depth?: number;
                /** @description only of items and iterations */
                repetitions?: boolean;
                /** @description how many to leave out at the start */
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
                    "application/json": components["schemas"]["RecordList"];
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
    show_step_api_runs__run__step_get: {
        parameters: {
            query: {
                at: string;
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
                    "application/json": components["schemas"]["StepDetail"];
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
    stop_api_runs__run__stop_post: {
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
                "application/json": components["schemas"]["Stop"];
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
    what_if_of_run_api_runs__run__what_if_post: {
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
                "application/json": components["schemas"]["AskedRule"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Found"];
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
    list_schedules_api_schedules_get: {
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
                    "application/json": components["schemas"]["ScheduleList"];
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
    add_schedule_api_schedules_post: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewScheduleItem"];
            };
        };
        responses: {
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ScheduleItem"];
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
    remove_schedule_api_schedules__schedule__delete: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                schedule: string;
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
                    "application/json": components["schemas"]["Nothing"];
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
    pause_schedule_api_schedules__schedule__pause_post: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                schedule: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Nothing"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ScheduleItem"];
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
    resume_schedule_api_schedules__schedule__resume_post: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                schedule: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Nothing"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ScheduleItem"];
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
    run_schedule_api_schedules__schedule__run_post: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                schedule: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Nothing"];
            };
        };
        responses: {
            /** @description Successful Response */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ScheduleItem"];
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
    open_session_api_session_post: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewSession"];
            };
        };
        responses: {
            /** @description Successful Response */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
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
    list_templates_api_templates_get: {
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
                    "application/json": components["schemas"]["TemplateList"];
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
    start_try_api_tries_post: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Try"];
            };
        };
        responses: {
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StepTrial"];
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
    new_file_api_workflows_post: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewFile"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Saved"];
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
    edit_api_workflows_edit_post: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Edit"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Edited"];
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
            /** @description an operation is refused */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            429: components["responses"]["Error429"];
            503: components["responses"]["Error503"];
        };
    };
    show_etag_api_workflows_etag_get: {
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
                    "application/json": components["schemas"]["Etag"];
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
                /** @description which workflow, if the file has several */
                named?: string;
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
    list_names_api_workflows_names_post: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Place"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NameList"];
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
            /** @description an operation is refused */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorAnswer"];
                };
            };
            429: components["responses"]["Error429"];
            503: components["responses"]["Error503"];
        };
    };
    show_sketch_api_workflows_sketch_get: {
        parameters: {
            query: {
                /** @description its path in the project */
                file: string;
                /** @description whether it is validated */
                validate?: boolean;
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
                    "application/json": components["schemas"]["Sketched"];
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
    sketch_api_workflows_sketch_post: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Unsaved"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Sketched"];
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
                /** @description which workflow, if the file has several */
                named?: string;
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
    save_api_workflows_source_put: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Saving"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Saved"];
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
    fetch_answer_hooks_runs__run__get: {
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
                content?: never;
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
            /** @description the answer of the workflow */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "*/*": unknown;
                };
            };
        };
    };
    take_call_hooks_runs__run___at__post: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                at: string;
                run: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": unknown;
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": unknown;
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
            /** @description the answer of the workflow */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "*/*": unknown;
                };
            };
        };
    };
    call_trigger_hooks_workflows__workflow___trigger__get: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                workflow: string;
                trigger: string;
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
                content?: never;
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
            /** @description the answer of the workflow */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "*/*": unknown;
                };
            };
        };
    };
    call_trigger_hooks_workflows__workflow___trigger__put: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                workflow: string;
                trigger: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": unknown;
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
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
            /** @description the answer of the workflow */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "*/*": unknown;
                };
            };
        };
    };
    call_trigger_hooks_workflows__workflow___trigger__post: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                workflow: string;
                trigger: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": unknown;
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
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
            /** @description the answer of the workflow */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "*/*": unknown;
                };
            };
        };
    };
    call_trigger_hooks_workflows__workflow___trigger__delete: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                workflow: string;
                trigger: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": unknown;
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
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
            /** @description the answer of the workflow */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "*/*": unknown;
                };
            };
        };
    };
    call_trigger_hooks_workflows__workflow___trigger__patch: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                workflow: string;
                trigger: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": unknown;
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
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
            /** @description the answer of the workflow */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "*/*": unknown;
                };
            };
        };
    };
    take_webhook_hooks__name__post: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": unknown;
            };
        };
        responses: {
            /** @description Successful Response */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Hooked"];
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
    metrics_metrics_get: {
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
                    "text/plain": string;
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
